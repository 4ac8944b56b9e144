#include "node_agent/report_queue.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "common/admin_file.h"
#include "common/log.h"
#include "report/file.h"

namespace penstock {
namespace {

constexpr const char* kWhat = "writing a report";
constexpr size_t kMaxMessageBytes = 4096;
constexpr std::string_view kWritten = "=";  // the child's report of success

}  // namespace

Status write_report(const EndedJob& job) {
  const Result<UniqueFd> directory =
      open_admin_directory(job.directory, job.directory);
  if (!directory) return directory.error();
  return write_report_file(directory->get(), job.report, job.uid, job.format);
}

void ReportQueue::add(EndedJob job) {
  const auto same = std::find_if(
      waiting_.begin(), waiting_.end(), [&](const EndedJob& other) {
        return other.report.job_id == job.report.job_id;
      });
  if (same != waiting_.end()) {
    *same = std::move(job);
  } else if (waiting_.size() < kMaxWaiting) {
    waiting_.push_back(std::move(job));
  } else {
    ++dropped_;
  }
  write_next();
}

void ReportQueue::write_next() {
  if (is_writing_ || waiting_.empty()) return;
  is_writing_ = true;
  // Shared with the callback, which a failed start calls at once.
  const auto job = std::make_shared<EndedJob>(std::move(waiting_.front()));
  waiting_.pop_front();
  const auto has_started = std::make_shared<bool>(false);
  ChildWork work;
  work.what = kWhat;
  work.body = [this, job](int out) {
    const Status written = write_(*job);
    const std::string_view said =
        written ? kWritten : std::string_view(written.error().message);
    (void)!::write(out, said.data(), said.size());
  };
  work.deadline_ms = kDeadline_ms;
  work.max_bytes = kMaxMessageBytes;
  children_.start(work, [this, job, has_started](Result<std::string> said) {
    is_writing_ = false;
    if (*has_started) return on_written(*job, said);
    waiting_.push_front(std::move(*job));
    if (!std::exchange(is_held_up_, true)) {
      log_warning("{} reports wait to be written: {}", waiting_.size(),
                  said.error().message);
    }
  });
  *has_started = true;
  if (is_writing_) is_held_up_ = false;
}

void ReportQueue::on_written(const EndedJob& job,
                             const Result<std::string>& said) {
  const bool is_written = said && *said == kWritten;
  if (!is_written) {
    log_error("job {}: report: {}", job.report.job_id,
              !said           ? said.error().message
              : said->empty() ? "its writer crashed"
                              : *said);
  }
  write_next();
}

void ReportQueue::tend(uint64_t now_ns) {
  write_next();
  if (dropped_ == 0 || now_ns < next_log_ns_) return;
  log_error(
      "{} reports are lost: {} wait already to be written; look whether "
      "ReportDir hangs",
      std::exchange(dropped_, 0), waiting_.size());
  next_log_ns_ = now_ns + kDropsLogged_ns;
}

}  // namespace penstock
