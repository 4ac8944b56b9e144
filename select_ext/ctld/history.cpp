#include "select_ext/ctld/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <utility>

#include "common/blocked_thread.h"
#include "common/clock.h"

namespace penstock {
namespace {

constexpr double kDay_s = 86400;
constexpr double kMinBetweenSetAsides_s = 60;
constexpr double kIdlePruneInterval_s = 60;
constexpr int64_t kMaxPrunedAtOnce = 1000;
constexpr size_t kReportsAtOnce = 64;  // of a transaction

// Errors that only the admin can fix; all others may be temporary.
bool needs_admin(const Error& error) {
  return error.code == Code::kPermissionDenied ||
         error.code == Code::kNotFound || error.saved_errno == EISDIR ||
         error.saved_errno == ENOTDIR || error.saved_errno == ELOOP ||
         error.saved_errno == ENAMETOOLONG;
}

bool is_damage(const Error& error) {
  return error.code == Code::kInvalidArgument;
}

}  // namespace

Result<std::unique_ptr<History>> History::open(const HistoryOptions& options,
                                               Say say) {
  std::unique_ptr<History> history(new History(options, std::move(say)));
  Status opened = history->ensure_open();
  if (!opened && is_damage(opened.error())) {
    history->set_aside(opened.error());
    opened = history->ensure_open();
  }
  if (!opened && needs_admin(opened.error())) return std::move(opened).error();
  if (!opened) history->fail(opened.error());
  Result<std::thread> thread =
      start_blocked_thread([it = history.get()] { it->serve(); });
  if (!thread) return std::move(thread).error();
  history->thread_ = *std::move(thread);
  return history;
}

History::~History() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void History::put(JobRecord record) {
  const Key key{record.cluster, record.job_id, record.restart_count,
                record.submit_unix_s};
  const std::lock_guard lock(mutex_);
  const auto [place, added] = pending_.insert_or_assign(key, std::move(record));
  if (!added) return;
  order_.push_back(key);
  drop_beyond_room();
}

// REQUIRES: mutex_ is held.
void History::drop_beyond_room() {
  while (order_.size() > options_.max_pending) {
    pending_.erase(order_.front());
    order_.pop_front();
    ++counts_.left_out;
  }
}

void History::put(KeptReport report) {
  const std::lock_guard lock(mutex_);
  const auto same = std::find_if(
      reports_.begin(), reports_.end(), [&](const KeptReport& other) {
        return other.job_id == report.job_id && other.node == report.node &&
               other.started_unix_s == report.started_unix_s;
      });
  // One that is being written stays: the writer removes as many as it wrote.
  const bool is_known =
      same != reports_.end() && same->updated_unix_s >= report.updated_unix_s;
  if (is_known || report_bytes_ + report.packed.size() >
                      options_.max_pending_report_bytes) {
    return;
  }
  report_bytes_ += report.packed.size();
  reports_.push_back(std::move(report));
}

std::vector<KeptReport> History::take_kept() {
  const std::lock_guard lock(mutex_);
  return std::exchange(kept_, {});
}

// ---- The writing thread

void History::serve() {
  const std::chrono::milliseconds period(options_.commit_every_ms);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait_for(lock, period, [this] { return stopping_ || hurry_; });
    const bool last = stopping_;
    hurry_ = false;
    lock.unlock();
    write_once();
    lock.lock();
    changed_.notify_all();
    if (last) return;
  }
}

void History::write_once() {
  std::optional<Error> damage;
  {
    const std::lock_guard lock(mutex_);
    damage.swap(damage_);
  }
  if (damage) set_aside(*damage);
  std::vector<JobRecord> batch = take_batch();
  Status status = ensure_open();
  if (status && !batch.empty()) status = writer_->put(batch);
  if (status) status = write_reports();
  if (status) status = prune(!batch.empty());
  if (status) return succeed(batch.size());
  put_back(std::move(batch));
  // What is too old makes room on a full disk.
  if (writer_ && status.error().code == Code::kLimit) (void)prune(true);
  if (status.error().code == Code::kIo) writer_.reset();
  if (is_damage(status.error())) {
    set_aside(status.error());
  } else {
    fail(status.error());
  }
}

std::vector<JobRecord> History::take_batch() {
  const std::lock_guard lock(mutex_);
  std::vector<JobRecord> batch;
  batch.reserve(order_.size());
  for (const Key& key : order_) {
    batch.push_back(std::move(pending_.extract(key).mapped()));
  }
  order_.clear();
  writing_ = batch.size();
  return batch;
}

// A report waits until it is written: its agent sends it again meanwhile.
Status History::write_reports() {
  while (true) {
    std::vector<KeptReport> reports;
    {
      const std::lock_guard lock(mutex_);
      const size_t count = std::min(reports_.size(), kReportsAtOnce);
      reports.assign(reports_.begin(), reports_.begin() + int64_t(count));
    }
    if (reports.empty()) return Done{};
    if (Status written = writer_->put_reports(reports); !written)
      return written;
    const std::lock_guard lock(mutex_);
    reports_.erase(reports_.begin(),
                   reports_.begin() + int64_t(reports.size()));
    for (KeptReport& report : reports) {
      report_bytes_ -= report.packed.size();
      report.packed.clear();
      kept_.push_back(std::move(report));
    }
  }
}

// Records put in the meantime are newer and are kept.
void History::put_back(std::vector<JobRecord> batch) {
  const std::lock_guard lock(mutex_);
  writing_ = 0;
  for (auto record = batch.rbegin(); record != batch.rend(); ++record) {
    const Key key{record->cluster, record->job_id, record->restart_count,
                  record->submit_unix_s};
    if (pending_.try_emplace(key, std::move(*record)).second) {
      order_.push_front(key);
    }
  }
  drop_beyond_room();
}

void History::succeed(size_t records) {
  bool recovered = false;
  Counts counts;
  {
    const std::lock_guard lock(mutex_);
    writing_ = 0;
    counts_.written += records;
    recovered = std::exchange(counts_.failing, false);
    counts = counts_;
  }
  if (recovered) {
    say_(
        fmt::format("history: {} is writable again: {} records waited, {} were "
                    "dropped so far for lack of space",
                    options_.path, records, counts.left_out));
  }
}

void History::fail(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(counts_.failing, true)) return;
  }
  say_(fmt::format(
      "history: {}; jobs go on, up to {} records wait in memory, "
      "and it is tried again every {} ms",
      error.message, options_.max_pending, options_.commit_every_ms));
}

Status History::ensure_open() {
  if (writer_) return Done{};
  Result<HistoryFile> file =
      HistoryFile::open(options_.path, options_.busy_timeout_ms);
  if (!file) return std::move(file).error();
  writer_.emplace(*std::move(file));
  return Done{};
}

Status History::prune(bool written) {
  const double now_unix_s = unix_s();
  if (!written && now_unix_s - pruned_unix_s_ < kIdlePruneInterval_s) {
    return Done{};
  }
  const auto prune_one = [&](HistoryFile::Kept kept, double days,
                             int64_t most_rows) {
    return writer_->prune(kept, now_unix_s - days * kDay_s, most_rows,
                          kMaxPrunedAtOnce);
  };
  const auto runs = prune_one(HistoryFile::Kept::kRuns, options_.retention_days,
                              options_.max_jobs);
  if (!runs) return runs.error();
  const auto reports =
      prune_one(HistoryFile::Kept::kReports, options_.report_retention_days,
                options_.max_reports);
  if (!reports) return reports.error();
  if (runs->beyond_number > 0) {
    say_too_many(fmt::format("{} runs", options_.max_jobs), "HistoryRetention",
                 said_runs_unix_s_);
  }
  if (reports->beyond_number > 0) {
    say_too_many(fmt::format("{} reports", options_.max_reports),
                 "ReportRetention", said_reports_unix_s_);
  }
  // If there is more to remove, the next write prunes again.
  const bool is_all = std::max(runs->all(), reports->all()) < kMaxPrunedAtOnce;
  pruned_unix_s_ = is_all ? now_unix_s : 0;
  const std::lock_guard lock(mutex_);
  counts_.pruned += uint64_t(runs->all());
  return Done{};
}

// Once a day: rows that their retention would keep are removed.
void History::say_too_many(const std::string& most, const char* retention,
                           double& said_unix_s) {
  const double now_unix_s = unix_s();
  if (now_unix_s - said_unix_s < kDay_s) return;
  said_unix_s = now_unix_s;
  say_(
      fmt::format("history: {} are the most that are kept: the oldest are "
                  "removed before {} has passed; lower it",
                  most, retention));
}

void History::set_aside(const Error& error) {
  const double now_unix_s = unix_s();
  if (now_unix_s - set_aside_unix_s_ < kMinBetweenSetAsides_s) {
    return fail(error);  // the disk damages new files too
  }
  writer_.reset();
  const std::lock_guard lock(reader_mutex_);
  reader_.reset();
  const std::string aside =
      fmt::format("{}.corrupt-{:.0f}", options_.path, now_unix_s);
  if (std::rename(options_.path.c_str(), aside.c_str()) != 0) {
    return fail(system_error(errno, "damaged (" + error.message +
                                        ") and cannot be renamed to " + aside));
  }
  set_aside_unix_s_ = now_unix_s;
  for (const char* part : {"-wal", "-shm"}) {
    (void)std::rename((options_.path + part).c_str(), (aside + part).c_str());
  }
  say_(
      fmt::format("history: {}: created a new file; the damaged one is now {} "
                  "(to recover its rows: sqlite3 {} .recover)",
                  error.message, aside, aside));
}

// ---- Reading

template <class Rows, class Query>
Rows History::read(Rows (HistoryFile::*search)(const Query&),
                   const Query& query) {
  const std::lock_guard lock(reader_mutex_);
  if (!reader_) {
    Result<HistoryFile> file =
        HistoryFile::open(options_.path, options_.busy_timeout_ms);
    if (!file) {
      note_damage(file.error());
      return std::move(file).error();
    }
    Status limited = file->limit_to_reading(options_.query_timeout_ms);
    if (!limited) return std::move(limited).error();
    reader_.emplace(*std::move(file));
  }
  Rows rows = ((*reader_).*search)(query);
  if (!rows && rows.error().code != Code::kUnavailable) {
    note_damage(rows.error());
    reader_.reset();
  }
  return rows;
}

Result<std::vector<HistoryRow>> History::find(const HistoryQuery& query) {
  return read(&HistoryFile::find, query);
}

Result<std::vector<ReportRow>> History::find_reports(const ReportQuery& query) {
  return read(&HistoryFile::find_reports, query);
}

// The writing thread will set the file aside.
void History::note_damage(const Error& error) {
  if (!is_damage(error)) return;
  const std::lock_guard lock(mutex_);
  damage_ = error;
}

History::Counts History::counts() const {
  const std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.pending = order_.size() + writing_;
  return counts;
}

Status History::flush(int timeout_ms) {
  std::unique_lock lock(mutex_);
  const uint64_t left_out = counts_.left_out;
  hurry_ = true;
  changed_.notify_all();
  const bool done =
      changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                        [this] { return order_.empty() && writing_ == 0; });
  if (done && counts_.left_out == left_out) return Done{};
  return Error{Code::kUnavailable, 0,
               fmt::format("{} of the history's records are not yet in {}",
                           order_.size() + writing_, options_.path)};
}

}  // namespace penstock
