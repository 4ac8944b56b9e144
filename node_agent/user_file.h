// Reads a file that a user named, with that user's rights: in a child process
// that has given up root, so that neither a hostile path nor a hanging file
// system reaches penstockd.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "common/result.h"
#include "common/unique_fd.h"
#include "node_agent/event_loop.h"

namespace penstock {

class UserFileReader {
 public:
  using Callback = std::function<void(Result<std::string>)>;

  explicit UserFileReader(EventLoop& loop) : loop_(loop) {}
  ~UserFileReader();

  // Calls back later, once: with the contents, or
  //   kPermissionDenied, kNotFound, kIo  the user cannot read it
  //   kLimit        over kMaxBytes, or not a regular file
  //   kUnavailable  it took over kDeadlineMs, or too many are being read
  void read(const std::string& path, uid_t uid, gid_t gid, Callback callback);

  // Ends children that are past their deadline; call about once a second.
  void expire(uint64_t now_ns);

  static constexpr size_t kMaxBytes = 64 * 1024;
  static constexpr uint64_t kDeadlineMs = 5000;
  static constexpr size_t kMaxChildren = 32;

 private:
  struct Child {
    pid_t pid = 0;
    UniqueFd pipe;
    uint64_t deadline_ns = 0;
    std::string path;
    std::string text;
    Callback callback;
  };

  void receive(int fd);
  void finish(int fd, Result<std::string> result);

  EventLoop& loop_;
  std::map<int, Child> children_;  // by the pipe's read end
};

}  // namespace penstock
