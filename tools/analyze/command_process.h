// The analysed command, under srun or alone, as a child process.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

// Single-threaded use.
class CommandProcess {
 public:
  // Starts arguments[0], searched in PATH, in a process group of its own, with
  // `variables` ("NAME=VALUE") added to the environment. It gets SIGTERM if
  // this process is killed.
  // Errors: kNotFound, kPermissionDenied and others  it cannot be started
  [[nodiscard]] static Result<CommandProcess> start(
      const std::vector<std::string>& arguments,
      const std::vector<std::string>& variables);
  // Calls end().
  ~CommandProcess();
  CommandProcess(CommandProcess&& other) noexcept;
  CommandProcess& operator=(CommandProcess&&) = delete;

  // To poll for its output and its end.
  std::vector<int> fds() const;
  // Reads available output; keeps the last kKeptBytes.
  void read_output();
  static constexpr size_t kKeptBytes = 8192;

  // When the command has ended, this kills the rest of its process group.
  bool has_ended();
  // "exit code 3", "signal 9"; "" while it runs.
  std::string how_it_ended() const;
  // The last `most` lines of its output, indented and made printable; "" for
  // none.
  std::string last_lines(size_t most = 10) const;

  // Sends SIGTERM, and SIGKILL after kGrace_ms; waits for the end.
  void end();
  static constexpr int kGrace_ms = 10'000;

 private:
  CommandProcess() = default;
  void signal_all(int signal) const;

  pid_t pid_ = -1;
  UniqueFd pidfd_;
  UniqueFd output_;
  std::string written_;
  bool ended_ = false;
  int status_ = 0;  // as wait() returns it
};

}  // namespace penstock
