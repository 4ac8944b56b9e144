#include "report/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "common/admin_file.h"
#include "common/unique_fd.h"
#include "common/whole_file.h"
#include "report/json.h"
#include "report/render.h"

namespace penstock {
namespace {

// A job that is requeued without end must not fill the directory.
constexpr int kMostKeptRuns = 100;

Status replace(int dir_fd, const std::string& name, std::string_view text,
               uid_t uid) {
  return replace_file({.dir_fd = dir_fd,
                       .name = name,
                       .aside = "." + name + ".new",
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
  const std::string stem = std::to_string(report.job_id);
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
  std::string stem = std::to_string(report.job_id);
  Status status = keep_earlier_run(dir_fd, report);
  if (status) status = replace(dir_fd, stem + ".json", to_json(report), uid);
  if (status && format != PENSTOCK_REPORT_JSON) {
    status = replace(dir_fd, stem + ".txt", render_text(report), uid);
  }
  if (!status) return status;
  if (::fsync(dir_fd) != 0) {
    return system_error(errno, "cannot sync the report directory");
  }
  return status;
}

}  // namespace penstock
