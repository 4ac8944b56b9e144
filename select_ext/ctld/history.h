// The history of jobs, and their reports. Its own thread writes it twice a
// second, so the controller never waits for the disk.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "common/result.h"
#include "select_ext/ctld/history_file.h"

namespace penstock {

struct HistoryOptions {
  std::string path;  // on a local disk: the write-ahead log needs one
  double retention_days = 365;
  double report_retention_days = 90;
  int64_t max_reports = 500'000;  // some 10 GB
  int64_t max_jobs = 1'000'000;
  size_t max_pending = 100'000;  // records not yet written
  size_t max_pending_report_bytes = 32 << 20;
  int commit_every_ms = 500;
  int busy_timeout_ms = 500;  // limit of a write's wait for another lock
  int query_timeout_ms = 200;
};

// Commits one transaction per commit_every_ms, synced to disk. A crash loses no
// record that was put earlier than that.
//
// When a write fails (locked, disk full, read-only), records wait in memory and
// every commit_every_ms is a retry. Beyond max_pending the oldest records are
// dropped. The failure is logged once. A damaged file is renamed to
// FILE.corrupt-TIME, at most once a minute, and a new one is created.
//
// Thread-safe; reads are serialised.
class History {
 public:
  // Logs a line; also called from the writing thread.
  using Say = std::function<void(const std::string&)>;

  // Errors: kPermissionDenied, kNotFound  a file or folder that the admin must
  //         fix: says what to change. All other errors are retried.
  [[nodiscard]] static Result<std::unique_ptr<History>> open(
      const HistoryOptions& options, Say say);
  // Tries once to write the pending records.
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  // Adds or replaces the run's record; never waits for the disk.
  void put(JobRecord record);

  // Adds or replaces the report; never waits for the disk. It is dropped, and
  // never kept, if max_pending_report_bytes wait already: its agent sends it
  // again.
  void put(KeptReport report);
  // The reports that came to the disk since the last call, without their bytes.
  std::vector<KeptReport> take_kept();

  // Errors: kUnavailable  the file is locked, or the search took longer than
  //                       query_timeout_ms
  //         kIo and others  the file cannot be read now
  [[nodiscard]] Result<std::vector<HistoryRow>> find(const HistoryQuery& query);
  [[nodiscard]] Result<std::vector<ReportRow>> find_reports(
      const ReportQuery& query);

  struct Counts {
    size_t pending = 0;
    uint64_t written = 0;   // records, replacements included
    uint64_t left_out = 0;  // dropped beyond max_pending
    uint64_t pruned = 0;
    bool failing = false;  // the last write failed
  };
  Counts counts() const;
  // Waits until every record put before is in the file.
  // Errors: kUnavailable  not within timeout_ms
  [[nodiscard]] Status flush(int timeout_ms);

 private:
  using Key = std::tuple<std::string, uint32_t, uint32_t, double>;

  History(const HistoryOptions& options, Say say)
      : options_(options), say_(std::move(say)) {}
  void serve();
  void write_once();
  [[nodiscard]] Status ensure_open();
  [[nodiscard]] Status prune(bool written);
  void say_too_many(const std::string& most, const char* retention,
                    double& said_unix_s);
  std::vector<JobRecord> take_batch();
  void put_back(std::vector<JobRecord> batch);
  [[nodiscard]] Status write_reports();
  template <class Rows, class Query>
  Rows read(Rows (HistoryFile::*search)(const Query&), const Query& query);
  void drop_beyond_room();
  void succeed(size_t records);
  void fail(const Error& error);
  void set_aside(const Error& error);
  void note_damage(const Error& error);

  const HistoryOptions options_;
  const Say say_;

  mutable std::mutex mutex_;  // guards the following members
  std::condition_variable changed_;
  std::map<Key, JobRecord> pending_;
  std::deque<Key> order_;  // keys of pending_, oldest first
  Counts counts_;
  size_t writing_ = 0;              // records taken out for writing
  std::deque<KeptReport> reports_;  // not yet written
  size_t report_bytes_ = 0;         // of these
  std::vector<KeptReport> kept_;
  bool hurry_ = false;  // flush() waits
  bool stopping_ = false;
  std::optional<Error> damage_;  // found by a reader

  // Used by the writing thread alone, after open().
  std::optional<HistoryFile> writer_;
  double set_aside_unix_s_ = 0;
  double pruned_unix_s_ = 0;     // 0: there is more to remove
  double said_runs_unix_s_ = 0;  // that there are too many
  double said_reports_unix_s_ = 0;

  std::mutex reader_mutex_;
  std::optional<HistoryFile> reader_;

  std::thread thread_;
};

}  // namespace penstock
