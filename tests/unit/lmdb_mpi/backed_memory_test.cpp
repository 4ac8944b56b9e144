#include "loader/lmdb/mpi/backed_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "tests/unit/catch.h"

using namespace penstock;
using namespace penstock::lmdb;

namespace {

// Mapped as MPI does: neither address nor file offset is aligned to huge pages.
class Window {
 public:
  static constexpr uint64_t kOffset = uint64_t{3} * 4096;
  static constexpr uint64_t kAddress = uint64_t{5} * 4096;
  static constexpr uint64_t kBytes = 4 * kHugePageBytes;

  Window() : fd_(::memfd_create("window", MFD_CLOEXEC)) {
    REQUIRE(::ftruncate(fd_, kOffset + kBytes) == 0);
    room_ = ::mmap(nullptr, kBytes + 2 * kHugePageBytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto* const place = static_cast<uint8_t*>(room_) + kHugePageBytes -
                        reinterpret_cast<uintptr_t>(room_) % kHugePageBytes +
                        kAddress;
    data_ = ::mmap(place, kBytes, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_FIXED, fd_, kOffset);
    REQUIRE(data_ != MAP_FAILED);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() {
    ::munmap(room_, kBytes + 2 * kHugePageBytes);
    ::close(fd_);
  }
  uint8_t* data() const { return static_cast<uint8_t*>(data_); }

 private:
  int fd_;
  void* room_;
  void* data_;
};

// Linux 6.1 and later, with transparent huge pages built in.
bool kernel_collapses() {
  constexpr int kCollapse = 25;  // MADV_COLLAPSE
  const uint64_t bytes = 2 * kHugePageBytes;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto* const data = static_cast<uint8_t*>(memory);
  uint8_t* const whole = data + bytes_to_huge_page(data);
  *whole = 1;
  const bool can = ::madvise(whole, kHugePageBytes, kCollapse) == 0;
  ::munmap(memory, bytes);
  return can;
}

uint64_t shared_huge_kib() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  for (uint64_t kib = 0; file >> name >> kib;) {
    if (name == "ShmemHugePages:") return kib;
    std::getline(file, unit);
  }
  return 0;
}

}  // namespace

TEST_CASE("huge pages of shared memory are aligned to the file's offset") {
  const Window window;
  CHECK(bytes_to_huge_page(window.data()) == kHugePageBytes - Window::kOffset);
  CHECK(bytes_to_huge_page(window.data() + 100) ==
        kHugePageBytes - Window::kOffset - 100);
  CHECK(bytes_to_huge_page(window.data() + kHugePageBytes - Window::kOffset) ==
        0);
}

TEST_CASE("huge pages of private memory are aligned to the address") {
  const uint64_t bytes = 2 * kHugePageBytes;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto* const data = static_cast<uint8_t*>(memory);
  const uint64_t skipped = bytes_to_huge_page(data);
  CHECK(reinterpret_cast<uintptr_t>(data + skipped) % kHugePageBytes == 0);
  CHECK(skipped < kHugePageBytes);
  CHECK(back_memory({data, bytes}));
  ::munmap(memory, bytes);
}

TEST_CASE("memory keeps its values, and is zero elsewhere") {
  const Window window;
  window.data()[Window::kBytes / 2] = 7;
  CHECK(back_memory({window.data(), Window::kBytes}));
  uint64_t sum = 0;
  for (uint64_t i = 0; i < Window::kBytes; ++i) sum += window.data()[i];
  CHECK(sum == 7);
  CHECK(window.data()[Window::kBytes / 2] == 7);
}

TEST_CASE("shared memory is in huge pages if the kernel supports them") {
  if (!kernel_collapses()) {
    WARN("SKIPPED: this kernel makes no huge pages when asked");
    return;
  }
  const Window window;
  const uint64_t before = shared_huge_kib();
  CHECK(back_memory({window.data(), Window::kBytes}));
  // Three whole huge pages fit; other processes may free theirs meanwhile.
  CHECK(shared_huge_kib() >= before + kHugePageBytes / 1024);
}

TEST_CASE("unavailable memory is an error and not a signal") {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  REQUIRE(::ftruncate(fileno(file), 4096) == 0);
  // The second page is beyond the file's end, as on a full file system.
  void* const memory = ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED,
                              fileno(file), 0);
  REQUIRE(memory != MAP_FAILED);
  auto* const bytes = static_cast<uint8_t*>(memory);
  CHECK(back_memory({bytes, 4096}));
  const Status backed = back_memory({bytes, 8192});
  REQUIRE(!backed);
  CHECK(backed.error().code == Code::kLimit);
  ::munmap(memory, 8192);
  std::fclose(file);
}
