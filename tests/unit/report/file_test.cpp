#include "report/file.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
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
  // Of the job's directory.
  size_t entries() const {
    const fs::path job = path / "4711";
    if (!fs::exists(job)) return 0;
    return std::distance(fs::directory_iterator(job), fs::directory_iterator());
  }
  void make_job() const { fs::create_directory(path / "4711"); }

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
    CHECK(fs::exists(directory.path / "4711/c1.json") == row.json);
    CHECK(fs::exists(directory.path / "4711/c1.txt") == row.text);
    CHECK(directory.entries() == size_t{row.json} + size_t{row.text});
    if (row.json) CHECK(directory.text("4711/c1.json") == to_json(kReport));
    if (row.text) CHECK(directory.text("4711/c1.txt") == render_text(kReport));
  }
}

// Whether a process of this user, in this group, can open the file.
bool may_open(const fs::path& path, uid_t user, gid_t group, int flags) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_other = ::setgroups(0, nullptr) == 0 &&
                          ::setgid(group) == 0 && ::setuid(user) == 0;
    ::_exit(is_other && ::open(path.c_str(), flags) >= 0 ? 0 : 1);
  }
  int status = 1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status == 0;
}

uid_t owner_of(const fs::path& path) {
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_uid;
}

constexpr uid_t kUser = 12345, kOther = 12346;
constexpr gid_t kGroup = 100;  // that both are in, and root's files may be

TEST_CASE("only the user can read the report, and only root can change it") {
  if (::getuid() != 0) {
    WARN("skipped: only root can let a user read its file");
    return;
  }
  Directory directory;
  REQUIRE(::chmod(directory.path.c_str(), 0711) == 0);
  mode_t before = ::umask(0777);
  Status status = write_report_file(directory.fd.get(), kReport, kUser,
                                    PENSTOCK_REPORT_TEXT);
  ::umask(before);
  REQUIRE(status);
  for (const char* name : {"4711/c1.json", "4711/c1.txt"}) {
    const fs::path path = directory.path / name;
    CHECK(owner_of(path) == 0);
    REQUIRE(::chown(path.c_str(), -1, kGroup) == 0);
    CHECK(may_open(path, kUser, kGroup, O_RDONLY));
    CHECK_FALSE(may_open(path, kUser, kGroup, O_WRONLY));
    CHECK_FALSE(may_open(path, kOther, kGroup, O_RDONLY));
  }
  const fs::path job = directory.path / "4711";
  REQUIRE(::chown(job.c_str(), -1, kGroup) == 0);
  CHECK(may_open(job, kUser, kGroup, O_RDONLY | O_DIRECTORY));
  CHECK_FALSE(may_open(job, kOther, kGroup, O_RDONLY | O_DIRECTORY));
}

TEST_CASE("without access control lists the report belongs to its user") {
  if (::getuid() != 0 || ::unshare(CLONE_NEWNS) != 0 ||
      ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    WARN("skipped: only root can mount a file system");
    return;
  }
  Directory directory;
  REQUIRE(::mount("none", directory.path.c_str(), "ramfs", 0, "mode=0711") ==
          0);
  const UniqueFd fd(
      ::open(directory.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CHECK(write_report_file(fd.get(), kReport, kUser, PENSTOCK_REPORT_JSON));
  const fs::path path = directory.path / "4711/c1.json";
  CHECK(owner_of(path) == kUser);
  CHECK(may_open(path, kUser, kGroup, O_RDONLY));
  CHECK_FALSE(may_open(path, kOther, kGroup, O_RDONLY));
  JobReport next = kReport;
  next.start_unix_s = *kReport.end_unix_s + 60;
  next.end_unix_s = next.start_unix_s + 60;
  CHECK(write_report_file(fd.get(), next, kUser, PENSTOCK_REPORT_JSON));
  CHECK(directory.text("4711/c1.1.json") == to_json(kReport));
  ::umount2(directory.path.c_str(), MNT_DETACH);
}

TEST_CASE("the reports of a requeued job's earlier runs are kept") {
  Directory directory;
  JobReport report = kReport;
  const auto write_run = [&](double start_unix_s) {
    report.start_unix_s = start_unix_s;
    report.end_unix_s = start_unix_s + 100;
    REQUIRE(write_report_file(directory.fd.get(), report, ::getuid(),
                              PENSTOCK_REPORT_TEXT));
    return to_json(report);
  };
  const std::string first = write_run(1000);
  const std::string second = write_run(2000);
  const std::string third = write_run(3000);
  CHECK(directory.text("4711/c1.json") == third);
  CHECK(directory.text("4711/c1.1.json") == first);
  CHECK(directory.text("4711/c1.2.json") == second);
  CHECK(fs::exists(directory.path / "4711/c1.2.txt"));
  CHECK(directory.entries() == 6);
  // A later step of the same run.
  report.end_unix_s = 3500;
  REQUIRE(write_report_file(directory.fd.get(), report, ::getuid(),
                            PENSTOCK_REPORT_TEXT));
  CHECK(directory.text("4711/c1.json") == to_json(report));
  CHECK(directory.entries() == 6);
}

TEST_CASE("an earlier report and a leftover temporary file are replaced") {
  Directory directory;
  directory.make_job();
  std::ofstream(directory.path / "4711/c1.json.new") << "half a rep";
  std::ofstream(directory.path / "4711/c1.json") << "an earlier run";
  REQUIRE(write_report_file(directory.fd.get(), kReport, ::getuid(),
                            PENSTOCK_REPORT_JSON));
  CHECK(directory.text("4711/c1.json") == to_json(kReport));
  CHECK(directory.entries() == 1);
}

TEST_CASE("links are not followed") {
  Directory directory;
  directory.make_job();
  std::ofstream(directory.path / "precious") << "untouched";
  fs::create_symlink("../precious", directory.path / "4711/c1.json.new");
  fs::create_symlink("../precious", directory.path / "4711/c1.json");
  REQUIRE(write_report_file(directory.fd.get(), kReport, ::getuid(),
                            PENSTOCK_REPORT_JSON));
  CHECK(directory.text("precious") == "untouched");
  CHECK(
      fs::is_regular_file(fs::symlink_status(directory.path / "4711/c1.json")));
}

TEST_CASE("a link in place of the job's directory is refused") {
  Directory directory;
  fs::create_directory(directory.path / "elsewhere");
  fs::create_symlink("elsewhere", directory.path / "4711");
  Status status = write_report_file(directory.fd.get(), kReport, ::getuid(),
                                    PENSTOCK_REPORT_JSON);
  REQUIRE_FALSE(status);
  CHECK(status.error().message.starts_with("4711: "));
  CHECK(fs::is_empty(directory.path / "elsewhere"));
}

TEST_CASE("nodes that share the directory write beside each other") {
  Directory directory;
  JobReport other = kReport;
  other.node = "c2";
  for (const JobReport& report : {kReport, other, kReport}) {
    REQUIRE(write_report_file(directory.fd.get(), report, ::getuid(),
                              PENSTOCK_REPORT_JSON));
  }
  CHECK(directory.text("4711/c1.json") == to_json(kReport));
  CHECK(directory.text("4711/c2.json") == to_json(other));
  CHECK(directory.entries() == 2);
}

TEST_CASE("a node's name cannot leave the job's directory") {
  Directory directory;
  JobReport report = kReport;
  report.node = "../c1";
  REQUIRE(write_report_file(directory.fd.get(), report, ::getuid(),
                            PENSTOCK_REPORT_JSON));
  CHECK(fs::exists(directory.path / "4711/.._c1.json"));
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
  CHECK(status.error().message == "cannot write 4711/c1.json: File too large");
  CHECK_FALSE(fs::exists(directory.path / "4711"));
}

TEST_CASE("a disk that fills up keeps the complete earlier report") {
  Directory directory;
  directory.make_job();
  std::ofstream(directory.path / "4711/c1.json") << "an earlier run";
  {
    SmallDisk disk(100);
    CHECK_FALSE(write_report_file(directory.fd.get(), kReport, ::getuid(),
                                  PENSTOCK_REPORT_TEXT));
  }
  CHECK(directory.text("4711/c1.json") == "an earlier run");
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
    fs::create_directories(directory.path / "4711/c1.json" / "x");
    Status status = write_report_file(directory.fd.get(), kReport, ::getuid(),
                                      PENSTOCK_REPORT_JSON);
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Code::kIo);
    CHECK(status.error().message.starts_with(
        "cannot rename 4711/c1.json.new to 4711/c1.json: "));
    CHECK(directory.entries() == 1);
  }
  SECTION("a directory with the temporary file's name") {
    Directory directory;
    directory.make_job();
    fs::create_directory(directory.path / "4711/c1.json.new");
    Status status = write_report_file(directory.fd.get(), kReport, ::getuid(),
                                      PENSTOCK_REPORT_JSON);
    REQUIRE_FALSE(status);
    CHECK(status.error().message.starts_with(
        "cannot remove the left-over file 4711/c1.json.new: "));
  }
  SECTION("a caller who cannot keep the earlier run's report") {
    Directory directory;
    JobReport earlier = kReport;
    earlier.end_unix_s = kReport.start_unix_s - 1;
    REQUIRE(write_report_file(directory.fd.get(), earlier, ::getuid(),
                              PENSTOCK_REPORT_JSON));
    fs::create_directory(directory.path / "4711/c1.1.txt");
    std::ofstream(directory.path / "4711/c1.txt") << "the earlier run";
    Status status = write_report_file(directory.fd.get(), kReport, ::getuid(),
                                      PENSTOCK_REPORT_JSON);
    REQUIRE_FALSE(status);
    CHECK(status.error().message.starts_with(
        "cannot keep 4711/c1.txt as 4711/c1.1.txt: "));
    CHECK(directory.text("4711/c1.json") == to_json(earlier));
  }
}

}  // namespace
}  // namespace penstock
