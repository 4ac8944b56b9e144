// The history's file: an SQLite database with a table of job records and one
// of single values. What History does with it, and when, is in history.h.
// Not thread-safe: one HistoryFile for each thread; several may be open.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/result.h"
#include "select_ext/ctld/database.h"
#include "select_ext/ctld/job_record.h"

namespace penstock {

inline constexpr int kHistoryVersion = 3;  // of the tables

// Which records, newest first.
struct HistoryQuery {
  std::optional<uint32_t> uid;        // nullopt: of all users
  std::optional<uint32_t> job_id;     // also an array's or a het job's
  double since_unix_s = 0;            // last seen then or later
  bool measured_only = false;         // ended, with a ceiling
  std::optional<int64_t> before_row;  // the next page: below this row
  int limit = 100;
};

struct HistoryRow {
  int64_t row = 0;  // its number in the table, rising from run to run
  JobRecord job;
};

class HistoryFile {
 public:
  // Makes the file and its tables where there are none, and brings older ones
  // up to kHistoryVersion; either all of that happens or nothing.
  // Errors: Database::open()'s, and kPermissionDenied for a file that is
  //         another program's database or a newer Penstock's; what to do
  [[nodiscard]] static Result<HistoryFile> open(const std::string& path,
                                                int busy_timeout_ms);

  // Adds the records, or replaces those of the same runs, in one transaction.
  // Texts are kept up to 256 bytes, figures that are not finite as 0 or NULL.
  [[nodiscard]] Status put(const std::vector<JobRecord>& records);
  [[nodiscard]] Result<std::vector<HistoryRow>> find(const HistoryQuery& query);
  // find() and value() end after that long, with kUnavailable.
  void limit_time(int milliseconds) { database_->limit_time(milliseconds); }
  // Removes at most max_rows records: those last seen before the time, and
  // the oldest beyond max_jobs. Returns how many it removed.
  [[nodiscard]] Result<int64_t> prune(double before_unix_s, int64_t max_jobs,
                                      int64_t max_rows);

  // Values are on the disk when set_value() returns.
  [[nodiscard]] Status set_value(const std::string& key,
                                 const std::string& value);
  // "": never set.
  [[nodiscard]] Result<std::string> value(const std::string& key);

 private:
  explicit HistoryFile(std::unique_ptr<Database> database)
      : database_(std::move(database)) {}
  [[nodiscard]] Result<Statement*> prepared(const std::string& sql);

  std::unique_ptr<Database> database_;
  std::map<std::string, Statement> statements_;  // prepared once, by text
};

// Brings the tables up to kHistoryVersion; HistoryFile::open() calls it.
[[nodiscard]] Status migrate_history(Database& database,
                                     const std::string& path);

}  // namespace penstock
