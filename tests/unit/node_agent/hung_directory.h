// A file system whose server never answers: a process that opens the directory
// waits in the kernel, and does not even die of SIGKILL. Needs root and
// /dev/fuse. Moves the calling thread into a mount namespace of its own, so
// that no other program meets the directory.
#pragma once

#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>
#include <utility>

#include "common/unique_fd.h"
#include "tests/unit/catch.h"

namespace penstock::test {

class HungDirectory {
 public:
  HungDirectory() : fuse_(::open("/dev/fuse", O_RDWR | O_CLOEXEC)) {
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      return;
    }
    const std::string options = "fd=" + std::to_string(fuse_.get()) +
                                ",rootmode=40000,user_id=0,group_id=0";
    is_there_ = fuse_ &&
                ::mount("hung", path_.c_str(), "fuse", 0, options.c_str()) == 0;
    if (is_there_) server_ = std::thread([this] { greet_and_swallow(); });
  }
  ~HungDirectory() {
    answer();
    ::rmdir(path_.c_str());
  }
  // Ends the waits in the kernel, with errors.
  void answer() {
    if (!std::exchange(is_there_, false)) return;
    ::umount2(path_.c_str(), MNT_DETACH | MNT_FORCE);
    server_.join();
    fuse_.reset();
  }

  bool is_there() const { return is_there_; }
  const std::string& path() const { return path_; }

 private:
  // Answers the kernel's greeting only. Ends with the mount.
  void greet_and_swallow() const {
    std::array<char, 1 << 17> request;
    while (::read(fuse_.get(), request.data(), request.size()) > 0) {
      const auto* header = reinterpret_cast<fuse_in_header*>(request.data());
      if (header->opcode != FUSE_INIT) continue;
      struct {
        fuse_out_header header;
        fuse_init_out init;
      } answer{};
      answer.header = {sizeof answer, 0, header->unique};
      answer.init.major = FUSE_KERNEL_VERSION;
      answer.init.minor = FUSE_KERNEL_MINOR_VERSION;
      answer.init.max_write = 1 << 16;
      (void)!::write(fuse_.get(), &answer, sizeof answer);
    }
  }

  UniqueFd fuse_;
  std::string path_ = "/tmp/penstock-hung-XXXXXX";
  bool is_there_ = false;
  std::thread server_;
};

}  // namespace penstock::test
