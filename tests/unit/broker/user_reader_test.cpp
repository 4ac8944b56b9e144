// Tests broker/user_reader.h.
#include "broker/user_reader.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "broker/workers.h"
#include "common/unique_fd.h"
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"

using namespace penstock;

namespace {

constexpr uid_t kNobody = 65534;

class Files {
 public:
  Files() {
    ::signal(SIGCHLD, SIG_IGN);
    REQUIRE(::chmod(dir_.path().c_str(), 0755) == 0);
  }

  std::string path(const char* name) const { return dir_.path() / name; }
  std::string write(const char* name, const std::string& text,
                    mode_t mode = 0644) const {
    dir_.write(name, text);
    REQUIRE(::chmod(path(name).c_str(), mode) == 0);
    return path(name);
  }

 private:
  TempDir dir_;
};

// The child's whole answer (broker/user_reader.h).
std::string read_as_nobody(const std::string& path) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  Workers workers;
  REQUIRE(workers.start({.body =
                             [&](int answer, int) {
                               read_as_user(path.c_str(), kNobody, kNobody,
                                            answer);
                             }},
                        out.get()));
  out.reset();
  std::string answer;
  char block[4096];
  ssize_t size = 0;
  while ((size = ::read(in.get(), block, sizeof block)) > 0) {
    answer.append(block, static_cast<size_t>(size));
  }
  return answer;
}

int error_of(const std::string& path) {
  const std::string answer = read_as_nobody(path);
  int error = 0;
  REQUIRE(answer.size() == 1 + sizeof error);
  CHECK(answer[0] == '!');
  std::memcpy(&error, answer.data() + 1, sizeof error);
  return error;
}

bool is_root() {
  if (::geteuid() == 0) return true;
  WARN("skipped: only root can give up root");
  return false;
}

}  // namespace

TEST_CASE("a file that the user may read is returned completely") {
  if (!is_root()) return;
  const Files files;
  CHECK(read_as_nobody(files.write("small", "name = \"x\"\n")) ==
        "=name = \"x\"\n");
  CHECK(read_as_nobody(files.write("empty", "")) == "=");
  const std::string most(kMaxUserFileBytes, 'x');
  CHECK(read_as_nobody(files.write("most", most)) == "=" + most);
}

TEST_CASE("a file that only root may read is refused") {
  if (!is_root()) return;
  const Files files;
  CHECK(error_of(files.write("roots", "secret", 0600)) == EACCES);
}

TEST_CASE("missing, oversized and irregular files are refused") {
  if (!is_root()) return;
  const Files files;
  CHECK(error_of(files.path("missing")) == ENOENT);
  CHECK(error_of(files.write(
            "large", std::string(kMaxUserFileBytes + 1, 'x'))) == EFBIG);
  REQUIRE(::mkfifo(files.path("fifo").c_str(), 0644) == 0);
  CHECK(error_of(files.path("fifo")) == EFBIG);
  CHECK(error_of("/dev/zero") == EFBIG);
}

TEST_CASE(
    "a task that is still root's is waited for, and then its user reads") {
  if (!is_root()) return;
  const Files files;
  const std::string path = files.write("profile", "text");
  int ends[2], go[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  REQUIRE(::pipe2(go, O_CLOEXEC) == 0);
  const pid_t task = ::fork();
  if (task == 0) {
    ::usleep(200'000);
    char byte = 0;
    const bool is_user = ::setresgid(kNobody, kNobody, kNobody) == 0 &&
                         ::setresuid(kNobody, kNobody, kNobody) == 0;
    ::close(go[1]);
    if (is_user) (void)!::read(go[0], &byte, 1);  // until the test is over
    ::_exit(0);
  }
  const UniqueFd in(ends[0]), go_on(go[1]);
  UniqueFd out(ends[1]);
  ::close(go[0]);
  Workers workers;
  REQUIRE(workers.start({.body =
                             [&](int answer, int) {
                               read_as_process(path.c_str(), task, kNobody,
                                               answer);
                             }},
                        out.get()));
  out.reset();
  char answer[16] = {};
  REQUIRE(::read(in.get(), answer, 1) == 1);
  CHECK(answer[0] == '=');
}
