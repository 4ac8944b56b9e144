// Descriptors that a forked process does not keep: where its parent dies, the
// other end of a connection, or who waits for a lock, has to notice.
#pragma once

#include <functional>
#include <utility>

#include "common/unique_fd.h"

namespace penstock {

class UnforkedFd {
 public:
  UnforkedFd() = default;
  // open: quick, as no thread can fork meanwhile.
  explicit UnforkedFd(const std::function<UniqueFd()>& open);
  UnforkedFd(UnforkedFd&& other) noexcept : fd_(std::move(other.fd_)) {}
  UnforkedFd& operator=(UnforkedFd&& other) noexcept;
  UnforkedFd(const UnforkedFd&) = delete;
  UnforkedFd& operator=(const UnforkedFd&) = delete;
  ~UnforkedFd() { reset(); }

  int get() const { return fd_.get(); }
  explicit operator bool() const { return bool(fd_); }
  void reset();

 private:
  UniqueFd fd_;
};

}  // namespace penstock
