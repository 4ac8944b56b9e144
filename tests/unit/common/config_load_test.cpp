#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/config.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

// A temporary directory, removed at the end.
class TempDir {
 public:
  TempDir() {
    char name[] = "/tmp/penstock_config_XXXXXX";
    REQUIRE(mkdtemp(name));
    path_ = name;
  }
  ~TempDir() { std::filesystem::remove_all(path_); }

  std::string write(const std::string& text, mode_t mode = 0644) const {
    const std::string file = path_ + "/penstock.conf";
    std::ofstream(file) << text;
    REQUIRE(chmod(file.c_str(), mode) == 0);
    return file;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST_CASE("a valid file is read") {
  const TempDir dir;
  const auto config = load_config(dir.write("Policy=fair\n"));
  REQUIRE(config);
  CHECK(config->policy == Policy::kFair);
}

TEST_CASE("a link to a valid file is followed") {
  const TempDir dir;
  const std::string file = dir.write("Policy=fair\n");
  const std::string link = dir.path() + "/link.conf";
  REQUIRE(symlink(file.c_str(), link.c_str()) == 0);
  CHECK(load_config(link));
}

TEST_CASE("errors of the text name the file's path") {
  const TempDir dir;
  const std::string file = dir.write("Policy=best\n");
  CHECK(load_config(file).error().message.starts_with(file + ":1: Policy="));
}

TEST_CASE("a missing file is reported as not found") {
  const TempDir dir;
  const auto missing = load_config(dir.path() + "/none");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Code::kNotFound);
  CHECK(missing.error().saved_errno == ENOENT);
}

TEST_CASE("irregular files are refused without blocking") {
  const TempDir dir;
  const auto directory = load_config(dir.path());
  REQUIRE_FALSE(directory);
  CHECK(directory.error().message.find("not a regular file") !=
        std::string::npos);
  const std::string fifo = dir.path() + "/fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0644) == 0);
  const auto pipe = load_config(fifo);
  REQUIRE_FALSE(pipe);
  CHECK(pipe.error().code == Code::kInvalidArgument);
}

TEST_CASE("a file that others may write is refused with the remedy") {
  for (mode_t mode : {mode_t{0664}, mode_t{0646}, mode_t{0666}}) {
    const TempDir dir;
    const std::string file = dir.write("Policy=fair\n", mode);
    const auto config = load_config(file);
    REQUIRE_FALSE(config);
    CHECK(config.error().code == Code::kPermissionDenied);
    CHECK(config.error().message.ends_with("run: chmod go-w " + file));
  }
}

TEST_CASE("a file of another user is refused with the remedy") {
  if (geteuid() != 0) {
    WARN("SKIPPED: only root can give a file away");
    return;
  }
  const TempDir dir;
  const std::string file = dir.write("Policy=fair\n");
  REQUIRE(chown(file.c_str(), 65534, 65534) == 0);
  const auto config = load_config(file);
  REQUIRE_FALSE(config);
  CHECK(config.error().code == Code::kPermissionDenied);
  CHECK(config.error().message.ends_with("run: chown root " + file));
}

TEST_CASE("a file of more than 1 MiB is refused") {
  const TempDir dir;
  CHECK(load_config(dir.write(std::string(1 << 20, '\n'))));
  const auto large = load_config(dir.write(std::string((1 << 20) + 1, '\n')));
  REQUIRE_FALSE(large);
  CHECK(large.error().code == Code::kLimit);
}

}  // namespace
}  // namespace penstock
