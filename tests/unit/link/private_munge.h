// A munged beside the machine's, in a temporary directory.
#pragma once

#include <sys/types.h>

#include <string>

namespace penstock {

class PrivateMunge {
 public:
  // key      munged of the same key open each other's credentials
  // shift_s  how far its clock is ahead
  // REQUIRES: installed(). Fails the test when it does not come up in 20 s.
  explicit PrivateMunge(const std::string& key = "one", int shift_s = 0);
  ~PrivateMunge();
  PrivateMunge(const PrivateMunge&) = delete;
  PrivateMunge& operator=(const PrivateMunge&) = delete;

  static bool installed();

  std::string socket() const { return directory_ + "/munge.sock"; }
  void freeze();  // SIGSTOP: connections are queued, nothing is answered
  void thaw();
  void kill();  // and wait for its end

 private:
  std::string directory_;
  pid_t pid_ = -1;
};

}  // namespace penstock
