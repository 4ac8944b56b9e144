// Work that could hang or crash penstockd is done by children: each writes its
// result to a pipe, within a bound of time and of bytes, and penstockd never
// waits for one. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "common/event_loop.h"
#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

struct ChildWork {
  std::string what;                   // begins messages about it
  std::function<void(int out)> body;  // runs in the child, which then exits
  uint64_t deadline_ms = 0;
  size_t max_bytes = 0;  // that it may write
  // Called with what it writes, as it comes; the deadline is then for each
  // write, and max_bytes for none. False: it is ended, as one that is done.
  std::function<bool(std::string_view text)> stream = nullptr;
};

class BoundedChildren {
 public:
  using Callback = std::function<void(Result<std::string>)>;

  // REQUIRES: the process ignores SIGCHLD; nobody waits for the children.
  explicit BoundedChildren(EventLoop& loop) : loop_(loop) {}
  ~BoundedChildren() { end_all(); }

  // Forks. The body runs with default signal handlers and without any open
  // file but standard output, standard error and out. Calls back later, once:
  // with what it wrote until its end, also where it crashed, or
  //   kUnavailable  it took over deadline_ms, or too many run, or we stop
  //   kLimit        it wrote more than max_bytes
  //   kIo           it could not be started
  void start(const ChildWork& work, Callback callback);

  // Ends all, as the destructor does: kUnavailable.
  void end_all();

  // Ends children that are past their deadline; call about once a second.
  void expire(uint64_t now_ns);

  static constexpr size_t kMaxChildren = 32;

 private:
  struct Child {
    UniqueFd pidfd;  // none: it has ended already
    UniqueFd pipe;
    std::string what;
    uint64_t deadline_ms = 0;
    uint64_t deadline_ns = 0;  // the moment
    size_t max_bytes = 0;
    std::string text;
    std::function<bool(std::string_view)> stream;
    Callback callback;
  };

  void receive(int fd);
  void finish(int fd, Result<std::string> result);

  EventLoop& loop_;
  std::map<int, Child> children_;  // by the pipe's read end
};

}  // namespace penstock
