#include "node_agent/report_queue.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "common/admin_file.h"
#include "common/hex.h"
#include "common/log.h"
#include "common/whole_file.h"
#include "report/file.h"
#include "report/packed.h"

namespace penstock {
namespace {

constexpr char kDone = '=';  // before the child's text; else an error follows

}  // namespace

Result<std::string> write_report(const ReportedJob& job) {
  const Result<UniqueFd> directory =
      open_admin_directory(job.directory, job.directory);
  if (!directory) return directory.error();
  Status written =
      write_report_file(directory->get(), job.report, job.uid, job.format);
  if (!written) return std::move(written).error();
  return std::string();
}

Result<std::string> pack_reported(const ReportedJob& job) {
  const Result<std::string> packed = pack_report(job.report);
  if (!packed) return packed.error();
  return to_hex(*packed);
}

void ReportQueue::add(ReportedJob job) {
  const auto same = std::find_if(
      waiting_.begin(), waiting_.end(), [&](const ReportedJob& other) {
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
  const auto job = std::make_shared<ReportedJob>(std::move(waiting_.front()));
  waiting_.pop_front();
  const auto has_started = std::make_shared<bool>(false);
  ChildWork work;
  work.what = work_.what;
  work.body = [this, job](int out) {
    const Result<std::string> done = work_.run(*job);
    const std::string said = done ? kDone + *done : done.error().message;
    (void)write_whole(out, said);
  };
  work.deadline_ms = kDeadline_ms;
  work.max_bytes = work_.max_bytes;
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

void ReportQueue::on_written(const ReportedJob& job,
                             const Result<std::string>& said) {
  const bool is_done = said && said->starts_with(kDone);
  if (!is_done) {
    log_error("job {}: report: {}", job.report.job_id,
              !said           ? said.error().message
              : said->empty() ? "its writer crashed"
                              : *said);
  } else if (work_.done) {
    work_.done(job, said->substr(1));
  }
  write_next();
}

void ReportQueue::tend(uint64_t now_ns) {
  write_next();
  if (dropped_ == 0 || now_ns < next_log_ns_) return;
  log_error("{} reports are lost: {} wait already for {}; {}",
            std::exchange(dropped_, 0), waiting_.size(), work_.what,
            work_.remedy);
  next_log_ns_ = now_ns + kDropsLogged_ns;
}

}  // namespace penstock
