// What a test's program logs.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "tests/unit/catch.h"

namespace penstock::test {

// Captures standard error during its lifetime.
class Logged {
 public:
  Logged() : kept_(::dup(STDERR_FILENO)) {
    REQUIRE(::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) == 0);
    ::dup2(ends_[1], STDERR_FILENO);
  }
  ~Logged() {
    ::dup2(kept_, STDERR_FILENO);
    for (int fd : {kept_, ends_[0], ends_[1]}) ::close(fd);
  }
  // All output so far.
  const std::string& text() {
    char block[4096];
    for (ssize_t size; (size = ::read(ends_[0], block, sizeof block)) > 0;) {
      text_.append(block, size_t(size));
    }
    return text_;
  }
  size_t count(const std::string& part) {
    size_t found = 0, at = 0;
    for (const std::string& all = text(); (at = all.find(part, at)) != all.npos;
         ++at) {
      ++found;
    }
    return found;
  }

 private:
  int kept_;
  int ends_[2] = {-1, -1};
  std::string text_;
};

}  // namespace penstock::test
