#include "report/file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/unique_fd.h"
#include "report/json.h"
#include "report/render.h"
#include "samples.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

struct Directory {
  Directory() {
    char name[] = "/tmp/penstock-report-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
    fd.reset(::open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(fd);
  }
  ~Directory() { fs::remove_all(path); }

  std::string text(const std::string& name) const {
    std::ostringstream out;
    out << std::ifstream(path / name).rdbuf();
    return out.str();
  }
  size_t entries() const {
    return std::distance(fs::directory_iterator(path),
                         fs::directory_iterator());
  }

  fs::path path;
  UniqueFd fd;
};

// Limits the size of files, which looks like a full disk.
struct SmallDisk {
  explicit SmallDisk(rlim_t bytes) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    previous = std::signal(SIGXFSZ, SIG_IGN);
    rlimit now = before;
    now.rlim_cur = bytes;
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &now) == 0);
  }
  ~SmallDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, previous);
  }
  rlimit before{};
  void (*previous)(int) = SIG_DFL;
};

const JobReport kReport = samples::input_bound();

TEST_CASE("the format determines the files that are written") {
  struct Row {
    penstock_report_format format;
    bool json, text;
  };
  for (const Row& row : {Row{PENSTOCK_REPORT_UNSET, true, true},
                         Row{PENSTOCK_REPORT_TEXT, true, true},
                         Row{PENSTOCK_REPORT_JSON, true, false},
                         Row{PENSTOCK_REPORT_NONE, false, false}}) {
    Directory directory;
    REQUIRE(
        write_report_file(directory.fd.get(), kReport, ::getuid(), row.format));
    CHECK(fs::exists(directory.path / "4711.json") == row.json);
    CHECK(fs::exists(directory.path / "4711.txt") == row.text);
    CHECK(directory.entries() == size_t{row.json} + size_t{row.text});
    if (row.json) CHECK(directory.text("4711.json") == to_json(kReport));
    if (row.text) CHECK(directory.text("4711.txt") == render_text(kReport));
  }
}

TEST_CASE("only the user can read the report") {
  Directory directory;
  uid_t user = ::getuid() == 0 ? 12345 : ::getuid();
  mode_t before = ::umask(0777);
  Status status = write_report_file(directory.fd.get(), kReport, user,
                                    PENSTOCK_REPORT_TEXT);
  ::umask(before);
  REQUIRE(status);
  for (const char* name : {"4711.json", "4711.txt"}) {
    struct stat info {};
    REQUIRE(::stat((directory.path / name).c_str(), &info) == 0);
    CHECK(info.st_uid == user);
    CHECK((info.st_mode & 07777) == 0400);
  }
}

TEST_CASE("an earlier report and a leftover temporary file are replaced") {
  Directory directory;
  std::ofstream(directory.path / ".4711.json.new") << "half a rep";
  std::ofstream(directory.path / "4711.json") << "an earlier run";
  REQUIRE(write_report_file(directory.fd.get(), kReport, ::getuid(),
                            PENSTOCK_REPORT_JSON));
  CHECK(directory.text("4711.json") == to_json(kReport));
  CHECK(directory.entries() == 1);
}

TEST_CASE("links are not followed") {
  Directory directory;
  std::ofstream(directory.path / "precious") << "untouched";
  fs::create_symlink("precious", directory.path / ".4711.json.new");
  fs::create_symlink("precious", directory.path / "4711.json");
  REQUIRE(write_report_file(directory.fd.get(), kReport, ::getuid(),
                            PENSTOCK_REPORT_JSON));
  CHECK(directory.text("precious") == "untouched");
  CHECK(fs::is_regular_file(fs::symlink_status(directory.path / "4711.json")));
}

TEST_CASE("a full disk leaves no partial file") {
  Directory directory;
  Status status = Done{};
  {
    SmallDisk disk(100);
    status = write_report_file(directory.fd.get(), kReport, ::getuid(),
                               PENSTOCK_REPORT_TEXT);
  }
  REQUIRE_FALSE(status);
  CHECK(status.error().code == Code::kIo);
  CHECK(status.error().saved_errno == EFBIG);
  CHECK(status.error().message == "cannot write 4711.json: File too large");
  CHECK(directory.entries() == 0);
}

TEST_CASE("a disk that fills up keeps the complete earlier report") {
  Directory directory;
  std::ofstream(directory.path / "4711.json") << "an earlier run";
  {
    SmallDisk disk(100);
    CHECK_FALSE(write_report_file(directory.fd.get(), kReport, ::getuid(),
                                  PENSTOCK_REPORT_TEXT));
  }
  CHECK(directory.text("4711.json") == "an earlier run");
  CHECK(directory.entries() == 1);
}

TEST_CASE("each obstacle gives an error") {
  SECTION("a removed directory") {
    UniqueFd gone;
    {
      Directory directory;
      gone.reset(::dup(directory.fd.get()));
    }
    Status status = write_report_file(gone.get(), kReport, ::getuid(),
                                      PENSTOCK_REPORT_JSON);
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Code::kNotFound);
  }
  SECTION("a directory of the file's name") {
    Directory directory;
    fs::create_directories(directory.path / "4711.json" / "x");
    Status status = write_report_file(directory.fd.get(), kReport, ::getuid(),
                                      PENSTOCK_REPORT_JSON);
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Code::kIo);
    CHECK(status.error().message.starts_with(
        "cannot rename .4711.json.new to 4711.json: "));
    CHECK(directory.entries() == 1);
  }
  SECTION("a directory with the temporary file's name") {
    Directory directory;
    fs::create_directory(directory.path / ".4711.json.new");
    Status status = write_report_file(directory.fd.get(), kReport, ::getuid(),
                                      PENSTOCK_REPORT_JSON);
    REQUIRE_FALSE(status);
    CHECK(status.error().message.starts_with(
        "cannot remove the left-over file .4711.json.new: "));
  }
  SECTION("a user who cannot become the file's owner") {
    Directory directory;
    REQUIRE(::chmod(directory.path.c_str(), 0777) == 0);
    if (::getuid() == 0) REQUIRE(::seteuid(65534) == 0);
    Status status =
        write_report_file(directory.fd.get(), kReport, 0, PENSTOCK_REPORT_JSON);
    REQUIRE(::seteuid(::getuid()) == 0);
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Code::kPermissionDenied);
    CHECK(status.error().message.starts_with("cannot give 4711.json to user"));
    CHECK(directory.entries() == 0);
  }
}

}  // namespace
}  // namespace penstock
