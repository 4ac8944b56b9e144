// The history of jobs: kept by a thread that writes once a second, so that
// nothing the controller does waits for the disk.
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
  int64_t max_jobs = 1'000'000;
  size_t max_pending = 100'000;  // records not yet written
  int commit_every_ms = 500;
  int busy_timeout_ms = 500;  // how long a write waits for another's lock
  int query_timeout_ms = 200;
};

// One transaction a commit_every_ms, synced to the disk: a crash loses no
// record that was put longer ago than that. Where a write fails (locked, disk
// full, read-only) the records wait in memory, the oldest are left out beyond
// max_pending, the failure is said once, and every commit_every_ms it is tried
// again. A damaged file is renamed to FILE.corrupt-TIME, at most once a
// minute, and a new one begun.
// Thread-safe; the calls that read are serialised.
class History {
 public:
  // A line for the log; called from the writing thread too.
  using Say = std::function<void(const std::string&)>;

  // Errors: kPermissionDenied, kNotFound  a file or folder that will not do
  //         without the admin: says what to change. All else is retried.
  [[nodiscard]] static Result<std::unique_ptr<History>> open(
      const HistoryOptions& options, Say say);
  // Writes what is pending, once.
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  // Adds or replaces the run's record; never waits for the disk.
  void put(JobRecord record);

  // Errors: kUnavailable  the file is locked, or the search took longer than
  //                       query_timeout_ms
  //         kIo and others  the file cannot be read now
  [[nodiscard]] Result<std::vector<HistoryRow>> find(const HistoryQuery& query);

  // Few and small (a controller's term). A value stands on the disk when
  // set_value() returns Done; it waits for busy_timeout_ms at most besides the
  // disk. Damage to the file loses values: what must never go back needs
  // another witness too.
  [[nodiscard]] Status set_value(const std::string& key,
                                 const std::string& value);
  [[nodiscard]] Result<std::string> value(const std::string& key);

  struct Counts {
    size_t pending = 0;
    uint64_t written = 0;   // records, replacements included
    uint64_t left_out = 0;  // for want of room in memory
    uint64_t pruned = 0;
    bool failing = false;  // the last write failed
  };
  Counts counts() const;
  // Waits until everything that was put before stands in the file.
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
  std::vector<JobRecord> take_batch();
  void put_back(std::vector<JobRecord> batch);
  void drop_beyond_room();
  void succeed(size_t records);
  void fail(const Error& error);
  void set_aside(const Error& error);
  void note_damage(const Error& error);
  template <class T>
  Result<T> with_reader(const std::function<Result<T>(HistoryFile&)>& use);

  const HistoryOptions options_;
  const Say say_;

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::map<Key, JobRecord> pending_;
  std::deque<Key> order_;  // of pending_, the oldest first
  Counts counts_;
  size_t writing_ = 0;  // records that were taken out to be written
  bool hurry_ = false;  // flush() waits
  bool stopping_ = false;
  std::optional<Error> damage_;  // that a reader has met

  // The writing thread's own, after open().
  std::optional<HistoryFile> writer_;
  double set_aside_unix_s_ = 0;
  double pruned_unix_s_ = 0;  // 0: there is more to remove

  std::mutex reader_mutex_;
  std::optional<HistoryFile> reader_;

  std::thread thread_;
};

}  // namespace penstock
