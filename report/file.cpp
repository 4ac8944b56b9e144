#include "report/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "common/admin_file.h"
#include "common/reader_acl.h"
#include "common/unique_fd.h"
#include "common/whole_file.h"
#include "report/json.h"
#include "report/render.h"

namespace penstock {
namespace {

// A job that is requeued without end must not fill the directory.
constexpr int kMostKeptRuns = 100;

// A name of a node has no '/', as Slurm makes files of it, too.
std::string stem_of(const JobReport& report) {
  std::string node = report.node;
  std::replace(node.begin(), node.end(), '/', '_');
  return std::to_string(report.job_id) + "/" + node;
}

// Lets the user list the job's directory. Another node may have made it.
Status admit(int directory_fd, uid_t uid) {
  struct stat found {};
  if (::fstat(directory_fd, &found) != 0) return system_error(errno, "stat");
  if (uid == ::geteuid() || found.st_uid != ::geteuid()) return Done{};
  Status admitted = let_list(directory_fd, uid);
  if (admitted || admitted.error().code != Code::kUnavailable) return admitted;
  if (::fchmod(directory_fd, 0755) == 0) return Done{};
  return system_error(errno, "cannot open it to its user");
}

Result<UniqueFd> job_directory(int dir_fd, uint32_t job_id, uid_t uid) {
  const std::string name = std::to_string(job_id);
  if (::mkdirat(dir_fd, name.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_error(errno, "cannot make " + name);
  }
  UniqueFd directory(::openat(dir_fd, name.c_str(),
                              O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!directory) return system_error(errno, name);
  // Each time: a crash may have come before.
  if (Status admitted = admit(directory.get(), uid); !admitted) {
    return std::move(admitted).error().wrap(name);
  }
  return directory;
}

Status replace(int dir_fd, const std::string& name, std::string_view text,
               uid_t uid) {
  return replace_file({.dir_fd = dir_fd,
                       .name = name,
                       .aside = name + ".new",
                       .mode = 0400,
                       .reader = uid,
                       .sync = true},
                      text);
}

// A file that its user can change (see Replacement::reader) makes at most some
// more copies of itself.
Result<JobReport> report_in(int dir_fd, const std::string& name) {
  const UniqueFd file(
      ::openat(dir_fd, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat found {};
  if (!file || ::fstat(file.get(), &found) != 0) {
    return system_error(errno, name);
  }
  if (!S_ISREG(found.st_mode)) return invalid(name + ": not a regular file");
  std::string text;
  const int error = read_whole(file.get(), kMaxReportJsonBytes, text);
  if (error != 0) return system_error(error, name);
  return parse_report(text);
}

// A hard link, as it never replaces a file.
Status keep_as(int dir_fd, const std::string& name, const std::string& kept) {
  if (::linkat(dir_fd, name.c_str(), dir_fd, kept.c_str(), 0) == 0) {
    return Done{};
  }
  return system_error(errno, "cannot keep " + name + " as " + kept);
}

Status keep_earlier_run(int dir_fd, const JobReport& report) {
  const std::string stem = stem_of(report);
  const Result<JobReport> there = report_in(dir_fd, stem + ".json");
  if (!there ||
      there->end_unix_s.value_or(report.start_unix_s) >= report.start_unix_s) {
    return Done{};
  }
  for (int run = 1; run <= kMostKeptRuns; ++run) {
    const std::string kept = stem + "." + std::to_string(run);
    Status done = keep_as(dir_fd, stem + ".json", kept + ".json");
    if (!done && done.error().saved_errno == EEXIST) continue;
    if (!done) return done;
    ::unlinkat(dir_fd, (kept + ".txt").c_str(), 0);  // of no report any more
    done = keep_as(dir_fd, stem + ".txt", kept + ".txt");
    return !done && done.error().code == Code::kNotFound ? Done{} : done;
  }
  return Done{};  // the last one is replaced
}

}  // namespace

Status write_report_file(int dir_fd, const JobReport& report, uid_t uid,
                         penstock_report_format format) {
  if (format == PENSTOCK_REPORT_NONE) return Done{};
  const Result<UniqueFd> directory = job_directory(dir_fd, report.job_id, uid);
  if (!directory) return directory.error();
  const std::string stem = stem_of(report);
  Status status = keep_earlier_run(dir_fd, report);
  if (status) status = replace(dir_fd, stem + ".json", to_json(report), uid);
  if (status && format != PENSTOCK_REPORT_JSON) {
    status = replace(dir_fd, stem + ".txt", render_text(report), uid);
  }
  if (!status) {
    // Fails if it holds a complete report.
    ::unlinkat(dir_fd, std::to_string(report.job_id).c_str(), AT_REMOVEDIR);
    return status;
  }
  if (::fsync(directory->get()) != 0 || ::fsync(dir_fd) != 0) {
    return system_error(errno, "cannot sync the report directory");
  }
  return status;
}

}  // namespace penstock
