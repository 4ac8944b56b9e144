// The kernel's read limit, on a file of this machine's own disk.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <memory>

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/live_cgroups.h"

using namespace penstock;

namespace {

constexpr JobId kJob = 4000000003;
constexpr size_t kFileBytes = 4 << 20;
constexpr size_t kBlockBytes = 256 << 10;
constexpr uint64_t kLimit = 8 << 20;  // so that the file takes 0.5 s

// A file on a disk, and the disk's number; not in /dev/shm.
class DiskFile {
 public:
  DiskFile() {
    int fd = mkstemp(path_);
    std::string text(kFileBytes, 'x');
    good_ = fd >= 0 &&
            write(fd, text.data(), text.size()) ==
                static_cast<ssize_t>(text.size()) &&
            fsync(fd) == 0;
    struct stat status {};
    fstat(fd, &status);
    device_ = std::to_string(major(status.st_dev)) + ":" +
              std::to_string(minor(status.st_dev));
    close(fd);
  }
  ~DiskFile() { unlink(path_); }
  bool good() const { return good_; }
  const char* path() const { return path_; }
  const std::string& device() const { return device_; }

 private:
  char path_[32] = "/var/tmp/penstock-test-XXXXXX";
  std::string device_;
  bool good_ = false;
};

// A child that reads the whole file around the page cache after run(). Exit
// code: 0, or 1 on failure.
class Reader {
 public:
  explicit Reader(const char* path) {
    REQUIRE(pipe(start_) == 0);
    pid_ = fork();
    if (pid_ == 0) _exit(read_file(path));
  }
  pid_t pid() const { return pid_; }
  // Seconds that the reading took; negative on failure.
  double run() {
    auto begin = std::chrono::steady_clock::now();
    close(start_[0]);
    close(start_[1]);
    int status = 0;
    waitpid(pid_, &status, 0);
    std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - begin;
    return status == 0 ? took.count() : -1;
  }

 private:
  int read_file(const char* path) {
    close(start_[1]);
    char byte;
    if (read(start_[0], &byte, 1) != 0) return 1;
    int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    void* block = std::aligned_alloc(4096, kBlockBytes);
    size_t total = 0;
    ssize_t n = 0;
    while (fd >= 0 && (n = read(fd, block, kBlockBytes)) > 0) {
      total += static_cast<size_t>(n);
    }
    return total == kFileBytes ? 0 : 1;
  }

  int start_[2];
  pid_t pid_ = -1;
};

}  // namespace

TEST_CASE(
    "a read limit holds, reads are counted, and the limit can be removed") {
  if (std::string why = LiveCgroups::missing(); !why.empty()) {
    WARN("SKIPPED: " << why);
    return;
  }
  LiveCgroups live;
  DiskFile file;
  REQUIRE(file.good());
  V1Backend& backend = live.backend();
  Status limited = backend.set_io_limit(kJob, file.device(), kLimit);
  if (!limited) {
    CHECK(limited.error().code == Code::kInvalidArgument);
    WARN("SKIPPED: /var/tmp is not on a whole disk: "
         << limited.error().message);
    return;
  }
  Reader slow(file.path());
  REQUIRE(backend.attach_io(kJob, *backend.home_of({slow.pid(), 0})));
  double slow_s = slow.run();
  REQUIRE(slow_s > 0);
  CHECK(slow_s > 0.4);
  CHECK(*backend.io_read_bytes(kJob, file.device()) == kFileBytes);

  Reader fast(file.path());
  Home home = *backend.home_of({fast.pid(), 0});
  REQUIRE(backend.attach_io(kJob, home));
  REQUIRE(backend.clear_io_limit(kJob, file.device()));
  REQUIRE(fast.run() > 0);
  CHECK(*backend.io_read_bytes(kJob, file.device()) == 2 * kFileBytes);

  Reader outside(file.path());
  home = *backend.home_of({outside.pid(), 0});
  REQUIRE(backend.attach_io(kJob, home));
  REQUIRE(backend.detach_io(home));
  REQUIRE(outside.run() > 0);
  CHECK(*backend.io_read_bytes(kJob, file.device()) == 2 * kFileBytes);
  REQUIRE(backend.remove_job(kJob, nullptr));
  CHECK_FALSE(live.anything_left());
}
