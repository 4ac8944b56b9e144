// The command that is analysed, under srun or by itself, as a child process.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

// Used by one thread.
class CommandProcess {
 public:
  // Starts arguments[0], looked for in PATH, in a process group of its own and
  // with variables ("NAME=VALUE") added to the environment. Where we are killed
  // it gets SIGTERM.
  // Errors: kNotFound, kPermissionDenied and others  it cannot be started
  [[nodiscard]] static Result<CommandProcess> start(
      const std::vector<std::string>& arguments,
      const std::vector<std::string>& variables);
  // Ends it, as end() does.
  ~CommandProcess();
  CommandProcess(CommandProcess&& other) noexcept;
  CommandProcess& operator=(CommandProcess&&) = delete;

  // To wait on: what it writes, and its end.
  std::vector<int> fds() const;
  // Takes what it has written; the last kKeptBytes are kept.
  void read_output();
  static constexpr size_t kKeptBytes = 8192;

  // Where it has, whatever it has left in its process group is killed.
  bool has_ended();
  // "exit code 3", "signal 9"; "" while it runs.
  std::string how_it_ended() const;
  // The last lines that it wrote, indented and made printable; "" for none.
  std::string last_lines(size_t most = 10) const;

  // SIGTERM, and SIGKILL after kGrace_ms; waits for its end.
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
  int status_ = 0;  // as wait() gives it
};

}  // namespace penstock
