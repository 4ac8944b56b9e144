#include "tools/penstock/replace_file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "fake_agent.h"
#include "tests/unit/catch.h"
#include "tools/penstock/read_file.h"

namespace penstock {
namespace {

size_t files_in(const std::string& folder) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    (void)entry;
    ++count;
  }
  return count;
}

mode_t mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

TEST_CASE("a file is written completely, with mode 0600 and no other file") {
  ScratchDirectory directory;
  const std::string path = directory.file("page");
  const std::string large(300000, 'x');
  REQUIRE(replace_file(path, large));
  CHECK(*read_file(path, 1 << 20) == large);
  CHECK(mode_of(path) == 0600);
  REQUIRE(replace_file(path, "new"));
  CHECK(*read_file(path, 100) == "new");
  CHECK(files_in(directory.path) == 1);
}

TEST_CASE("a link is replaced, and its target is unchanged") {
  ScratchDirectory directory;
  directory.write("kept", "old");
  const std::string link = directory.file("link");
  REQUIRE(::symlink(directory.file("kept").c_str(), link.c_str()) == 0);
  REQUIRE(replace_file(link, "new"));
  CHECK(*read_file(directory.file("kept"), 100) == "old");
  CHECK_FALSE(std::filesystem::is_symlink(link));
}

TEST_CASE("irregular files are not replaced") {
  ScratchDirectory directory;
  const std::string pipe = directory.file("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  struct Row {
    std::string path, says;
  };
  for (const Row& row : {Row{directory.path, "is a directory; name a file"},
                         Row{directory.path + "/", "is a directory"},
                         Row{pipe, "is not a regular file; name another"},
                         Row{"", "name is empty"}}) {
    Status status = replace_file(row.path, "text");
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Code::kInvalidArgument);
    CHECK(status.error().message.find(row.says) != std::string::npos);
  }
  CHECK(files_in(directory.path) == 1);
}

TEST_CASE("the error for an unwritable file names it and the remedy") {
  ScratchDirectory directory;
  const std::string path = directory.file("none/page");
  Status status = replace_file(path, "text");
  REQUIRE_FALSE(status);
  CHECK(status.error().code == Code::kInvalidArgument);
  CHECK(status.error().message == "cannot write " + path +
                                      ": No such file or directory; create its "
                                      "directory first");
  CHECK(files_in(directory.path) == 0);
}

TEST_CASE("a failed write leaves the earlier file and no other file") {
  ScratchDirectory directory;
  const std::string path = directory.file("page");
  REQUIRE(replace_file(path, "old"));
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{1000, before.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  Status status = replace_file(path, std::string(2000, 'x'));
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  REQUIRE_FALSE(status);
  CHECK(status.error().code == Code::kIo);
  CHECK(status.error().message == "cannot write " + path + ": File too large");
  CHECK(*read_file(path, 100) == "old");
  CHECK(files_in(directory.path) == 1);
}

}  // namespace
}  // namespace penstock
