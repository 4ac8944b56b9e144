// Runs work that could hang or crash penstockd in child processes. A child
// writes its result to a pipe, bounded in time and in bytes; penstockd never
// waits for it. A killed child that hangs in the kernel counts until it has
// ended. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/event_loop.h"
#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

struct ChildWork {
  std::string what;                   // prefix of error messages
  std::function<void(int out)> body;  // runs in the child, which then exits
  uint64_t deadline_ms = 0;
  size_t max_bytes = 0;  // limit of the result's size
  // The user on whose files or processes the child depends.
  std::optional<uid_t> user = std::nullopt;
  // If set, called with each block of output as it arrives. deadline_ms then
  // applies between blocks, and max_bytes does not apply. Return false to end
  // the child; that counts as success.
  std::function<bool(std::string_view text)> stream = nullptr;
  // Instead of body: has another process do the work, which writes to `out` and
  // ends by itself.
  std::function<Status(int out)> elsewhere = nullptr;
};

class BoundedChildren {
 public:
  using Callback = std::function<void(Result<std::string>)>;

  // REQUIRES: the process ignores SIGCHLD, since no child is waited for.
  explicit BoundedChildren(EventLoop& loop) : loop_(loop) {}
  ~BoundedChildren() { end_all(); }

  // Forks. The body runs with default signal handlers and with no open files
  // other than standard output, standard error and `out`. Calls back once: with
  // all that the child wrote until its end, even if it crashed, or with an
  // error. If the child cannot be started, the callback runs before start()
  // returns.
  //   kUnavailable  deadline_ms passed (ETIMEDOUT), an earlier child with this
  //                 `what` and user was killed and hangs in the kernel (another
  //                 one would only hang with it), kMaxChildren run or hang, of
  //                 them kMaxOfUser for this user, or penstockd stops
  //   kLimit        the child wrote more than max_bytes
  //   kIo           the child cannot be started
  void start(const ChildWork& work, Callback callback);

  // Kills all children; each callback gets kUnavailable, as has each later
  // start(). The destructor does this too.
  void end_all();

  // Serves the children outside of the event loop, until is_done() or for
  // most_ms: for the last work before penstockd ends.
  void serve(const std::function<bool()>& is_done, uint64_t most_ms);

  // Kills children that are past their deadline. Call it once a second, or as
  // often as the deadlines need.
  void expire(uint64_t now_ns);

  static constexpr size_t kMaxChildren = 32;
  static constexpr size_t kMaxOfUser = 4;

 private:
  struct Child {
    UniqueFd pidfd;  // empty: the child had ended, or is not ours
    std::optional<uid_t> user;
    UniqueFd pipe;
    std::string what;
    uint64_t deadline_ms = 0;
    uint64_t deadline_ns = 0;  // CLOCK_MONOTONIC
    size_t max_bytes = 0;
    std::string text;
    std::function<bool(std::string_view)> stream;
    Callback callback;
  };

  // A child that was killed, until it has ended: it may wait in the kernel, as
  // for a file system that does not answer.
  struct Killed {
    UniqueFd pidfd;
    std::optional<uid_t> user;
    std::string what;
  };

  Status may_start(const ChildWork& work);
  static Result<UniqueFd> launch(const ChildWork& work, int out);
  size_t children_of(uid_t user) const;
  void receive(int fd);
  void finish(int fd, Result<std::string> result);

  EventLoop& loop_;
  std::map<int, Child> children_;  // by the file descriptor of `pipe`
  std::vector<Killed> killed_;
  bool is_ending_ = false;
};

}  // namespace penstock
