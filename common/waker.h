// Wakes a poll(2) loop from another thread.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "common/unique_fd.h"

namespace penstock {

// Thread-safe.
class Waker {
 public:
  Waker()
      : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        error_(fd_ ? 0 : errno) {}

  int error() const { return error_; }  // errno if there is no descriptor; or 0
  int fd() const { return fd_.get(); }  // readable after wake(), until clear()
  void wake() const {
    const uint64_t one = 1;
    (void)!::write(fd_.get(), &one, sizeof one);
  }
  void clear() const {
    uint64_t count = 0;
    (void)!::read(fd_.get(), &count, sizeof count);
  }

 private:
  UniqueFd fd_;
  int error_;
};

}  // namespace penstock
