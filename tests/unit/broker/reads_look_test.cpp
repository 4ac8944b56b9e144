// Tests broker/reads_look.h.
#include "broker/reads_look.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "broker/workers.h"
#include "common/unique_fd.h"
#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr uid_t kNobody = 65534;

struct Pipe {
  Pipe() {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    in.reset(ends[0]);
    out.reset(ends[1]);
  }
  UniqueFd in, out;
};

// A process that runs as nobody, does this, and waits for its end.
class Process {
 public:
  explicit Process(const std::function<void()>& work) {
    Pipe ready;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const bool is_user = ::setresgid(kNobody, kNobody, kNobody) == 0 &&
                           ::setresuid(kNobody, kNobody, kNobody) == 0 &&
                           ::prctl(PR_SET_DUMPABLE, 1) == 0;
      if (!is_user) ::_exit(1);
      work();
      (void)!::write(ready.out.get(), "r", 1);
      for (;;) ::pause();
    }
    char byte = 0;
    REQUIRE(::read(ready.in.get(), &byte, 1) == 1);
  }
  ~Process() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Process(const Process&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

std::string look(const std::vector<pid_t>& processes, uid_t user) {
  Pipe answer;
  const pid_t child = ::fork();
  if (child == 0) {
    look_at_reads(processes, user, answer.out.get());
    ::_exit(0);
  }
  answer.out.reset();
  std::string text;
  char block[4096];
  ssize_t size = 0;
  while ((size = ::read(answer.in.get(), block, sizeof block)) > 0) {
    text.append(block, size_t(size));
  }
  ::waitpid(child, nullptr, 0);
  return text;
}

bool is_root() {
  if (::geteuid() == 0) return true;
  WARN("skipped: only root can give up root");
  return false;
}

std::string line_of(pid_t pid) { return "p\t" + std::to_string(pid) + "\t"; }

MountEntry mount(const std::string& target, const std::string& type = "ext4") {
  return {"s", target, type, {}};
}

}  // namespace

TEST_CASE("a user's processes are looked at") {
  if (!is_root()) return;
  const Process reader([] {
    const int in = ::open("/etc/passwd", O_RDONLY);
    char byte = 0;
    for (int i = 0; i < 1000; ++i) (void)!::pread(in, &byte, 1, 0);
  });
  const std::string text = look({reader.pid()}, kNobody);
  CHECK(text.starts_with("t\t"));
  // Its thousand bytes, and what it read as a copy of this process.
  const size_t at = text.find(line_of(reader.pid()) + "10");
  CHECK(at != text.npos);
  CHECK(text.find("/etc/passwd") == text.npos);  // not over a network
}

TEST_CASE("no other user's process is looked at") {
  if (!is_root()) return;
  const Process own([] {});
  const std::string text = look({own.pid(), ::getpid()}, kNobody);
  CHECK(text.find(line_of(own.pid())) != text.npos);
  CHECK(text.find(line_of(::getpid())) == text.npos);
  CHECK(look({::getpid()}, kNobody).empty());
  CHECK(look({own.pid()}, 0).empty());
  CHECK(look({own.pid()}, kNobody - 1).empty());
}

TEST_CASE("network file systems are told by their type") {
  for (const char* type :
       {"nfs", "nfs4", "lustre", "fuse", "fuse.sshfs", "9p"}) {
    CHECK(is_network_file_system(type));
  }
  for (const char* type : {"", "ext4", "tmpfs", "overlay", "fuseblk", "fusectl",
                           "nfsd", "fuse.squashfuse_ll"}) {
    CHECK_FALSE(is_network_file_system(type));
  }
}

TEST_CASE("a path is in the deepest mount, and of equal ones in the last") {
  const std::vector<MountEntry> mounts = {
      mount("/"), mount("/net", "nfs"), mount("/net/a"), mount("/net", "nfs4")};
  const auto target = [&](const char* path) {
    return mount_of(mounts, path)->target;
  };
  CHECK(target("/netto/x") == "/");
  CHECK(target("/net/b") == "/net");
  CHECK(target("/net/a/x") == "/net/a");
  CHECK(mount_of(mounts, "/net")->type == "nfs4");
  CHECK(mount_of({mount("/net")}, "/home") == nullptr);
}
