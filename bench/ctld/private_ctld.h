// A munged and a penstockctld for one benchmark, in a temporary directory.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/result.h"

namespace penstock {

class PrivateCtld {
 public:
  // Starts both and waits until munged answers. Needs munged, and root because
  // of penstockctld.
  //   lines  added to penstock.conf
  // Errors: kUnavailable, kIo  a program cannot start or is not ready
  static Result<PrivateCtld> start(const std::vector<std::string>& lines);
  ~PrivateCtld();  // ends both and removes the directory
  PrivateCtld(PrivateCtld&& other) noexcept;
  PrivateCtld& operator=(PrivateCtld&&) = delete;

  std::string munge_socket() const { return directory_ + "/munge.sock"; }
  std::string endpoint() const { return "tcp://" + address_; }
  const std::string& directory() const { return directory_; }

  // CPU time of penstockctld and of munged so far.
  double ctld_cpu_s() const;
  double munged_cpu_s() const;
  double ctld_memory_mb() const;

  // Sends SIGKILL and restarts it at once.
  [[nodiscard]] Status kill_and_restart();

 private:
  PrivateCtld() = default;
  [[nodiscard]] Status start_munged();
  [[nodiscard]] Status start_ctld();
  [[nodiscard]] Status write_config(const std::vector<std::string>& lines);

  std::string directory_;
  std::string address_;
  pid_t munged_ = -1;
  pid_t ctld_ = -1;
};

}  // namespace penstock
