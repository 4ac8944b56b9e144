// The history's file: an SQLite database with a table of job records. history.h
// decides when to write. Not thread-safe: one HistoryFile per thread; several
// may be open.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/result.h"
#include "select_ext/ctld/database.h"
#include "wire/job_record.h"

namespace penstock {

// Selects records, newest first.
struct HistoryQuery {
  std::optional<uint32_t> uid;        // nullopt: all users
  std::optional<uint32_t> job_id;     // also an array's or a het job's
  double since_unix_s = 0;            // last seen at this time or later
  bool measured_only = false;         // ended, with a measured ceiling
  std::optional<int64_t> before_row;  // next page: rows below this id
  int limit = 100;
};

struct HistoryRow {
  int64_t row = 0;  // id in the table, rising from run to run
  JobRecord job;
};

class HistoryFile {
 public:
  // Creates the file and its tables if missing, and migrates older tables. A
  // migration is atomic.
  // Errors: Database::open()'s, and kPermissionDenied for another program's
  //         database or a newer Penstock's, with a remedy
  [[nodiscard]] static Result<HistoryFile> open(const std::string& path,
                                                int busy_timeout_ms);

  // Adds the records, or replaces those of the same runs, in one transaction.
  // Texts are cut to 256 bytes; figures that are not finite become 0 or NULL.
  [[nodiscard]] Status put(const std::vector<JobRecord>& records);
  [[nodiscard]] Result<std::vector<HistoryRow>> find(const HistoryQuery& query);
  // From now on this connection only reads, and a call of find() ends after
  // this time, with kUnavailable.
  [[nodiscard]] Status limit_to_reading(int milliseconds);
  // Removes at most max_rows records: those last seen before before_unix_s, and
  // the oldest beyond max_jobs. Returns the number removed.
  [[nodiscard]] Result<int64_t> prune(double before_unix_s, int64_t max_jobs,
                                      int64_t max_rows);

 private:
  explicit HistoryFile(std::unique_ptr<Database> database)
      : database_(std::move(database)) {}
  [[nodiscard]] Result<Statement*> prepared(const std::string& sql);

  std::unique_ptr<Database> database_;
  std::map<std::string, Statement> statements_;  // prepared, by SQL text
};

// Migrates the tables to the newest version; HistoryFile::open() calls it.
[[nodiscard]] Status migrate_history(Database& database,
                                     const std::string& path);

}  // namespace penstock
