#include "loader/peer/unforked_fd.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>
#include <thread>

#include "tests/unit/loader_cache/children.h"

using namespace penstock;
using namespace penstock::test;

namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }
UniqueFd null() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

TEST_CASE("a forked process does not inherit the descriptor") {
  UnforkedFd fd(null);
  const UniqueFd other = null();
  CHECK(in_child([&] {
          if (is_open(fd.get()) || !is_open(other.get())) ::_exit(1);
        }) == 0);
  CHECK(is_open(fd.get()));
}

TEST_CASE("a forked process does not close another descriptor of that number") {
  UnforkedFd fd(null);
  CHECK(in_child([&] {
          const UniqueFd own = null();
          if (own.get() != fd.get()) ::_exit(1);
          fd.reset();
          if (!is_open(own.get())) ::_exit(2);
        }) == 0);
}

TEST_CASE("the descriptor is closed once, by its owner") {
  UnforkedFd fd(null);
  const int number = fd.get();
  UnforkedFd moved(std::move(fd));
  CHECK(is_open(number));
  moved = UnforkedFd(null);
  CHECK_FALSE(is_open(number));
  const int second = moved.get();
  moved.reset();
  CHECK_FALSE(is_open(second));
  CHECK_FALSE(moved);
}

TEST_CASE(
    "a forked process does not inherit a descriptor being opened by a thread") {
  const auto named = [] {
    return UniqueFd(::memfd_create("unforked", MFD_CLOEXEC));
  };
  std::atomic<bool> is_over = false;
  std::thread opening([&] {
    while (!is_over) const UnforkedFd fd(named);
  });
  int kept = 0;
  for (int i = 0; i < 300; ++i) {
    kept += in_child([] {
      for (int fd = 0; fd < 100; ++fd) {
        char path[64] = {};
        const std::string link = "/proc/self/fd/" + std::to_string(fd);
        (void)!::readlink(link.c_str(), path, sizeof path - 1);
        if (std::string(path).find("unforked") != std::string::npos) {
          ::_exit(1);
        }
      }
    });
  }
  is_over = true;
  opening.join();
  CHECK(kept == 0);
}
