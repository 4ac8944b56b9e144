// Descriptors that are closed in forked processes. A copy in a child would keep
// a dead parent's connections and locks alive.
#pragma once

#include <functional>
#include <utility>

#include "common/unique_fd.h"

namespace penstock {

class UnforkedFd {
 public:
  UnforkedFd() = default;
  // `open` must be quick: no thread can fork while it runs.
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
