#include "node_agent/user_file.h"

#include <signal.h>
#include <sys/stat.h>

#include <optional>

#include "common/clock.h"
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

Result<std::string> read_as_nobody(const std::string& path) {
  EventLoop loop = *EventLoop::create();
  BoundedChildren children(loop);
  (void)*loop.add_timer(20, [&] { children.expire(monotonic_ns()); });
  std::optional<Result<std::string>> answer;
  read_user_file(children, path, kNobody, kNobody,
                 [&](Result<std::string> text) {
                   answer = std::move(text);
                   loop.stop();
                 });
  if (!answer) REQUIRE(loop.run().ok());
  return *answer;
}

Code code_of(const std::string& path) {
  Result<std::string> text = read_as_nobody(path);
  REQUIRE_FALSE(text.ok());
  CHECK_THAT(text.error().message, Catch::Matchers::StartsWith(path));
  return text.error().code;
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
  CHECK(*read_as_nobody(files.write("small", "name = \"x\"\n")) ==
        "name = \"x\"\n");
  CHECK(read_as_nobody(files.write("empty", ""))->empty());
  const std::string most(kMaxUserFileBytes, 'x');
  CHECK(*read_as_nobody(files.write("most", most)) == most);
}

TEST_CASE("a file that only root may read is refused") {
  if (!is_root()) return;
  const Files files;
  CHECK(code_of(files.write("roots", "secret", 0600)) ==
        Code::kPermissionDenied);
}

TEST_CASE("missing, oversized and irregular files are refused") {
  if (!is_root()) return;
  const Files files;
  CHECK(code_of(files.path("missing")) == Code::kNotFound);
  CHECK(code_of(files.write(
            "large", std::string(kMaxUserFileBytes + 1, 'x'))) == Code::kLimit);
  REQUIRE(::mkfifo(files.path("fifo").c_str(), 0644) == 0);
  CHECK(code_of(files.path("fifo")) == Code::kLimit);
  CHECK(code_of("/dev/zero") == Code::kLimit);
}
