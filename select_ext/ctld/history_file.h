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
  bool is_own = false;                // job_id: the job's own, no other's
  std::string kind;                   // kinds that begin so; "": all
  double since_unix_s = 0;            // last seen at this time or later
  bool measured_only = false;         // ended, with a measured ceiling
  std::optional<int64_t> before_row;  // next page: rows below this id
  int limit = 100;
};

struct HistoryRow {
  int64_t row = 0;  // id in the table, rising from run to run
  JobRecord job;
};

// A node's report of an ended run, as an agent sent it.
struct KeptReport {
  uint32_t job_id = 0;
  std::string node;
  double started_unix_s = 0;  // with job and node: its identity
  double updated_unix_s = 0;  // of two, the later one counts
  uint32_t uid = 0;
  double kept_unix_s = 0;
  std::string packed;  // bytes of pack_report()

  friend bool operator==(const KeptReport&, const KeptReport&) = default;
};

struct ReportRow {
  int64_t row = 0;
  KeptReport report;
};

// Selects reports of one job, in the order in which they were first kept.
struct ReportQuery {
  uint32_t job_id = 0;
  std::optional<uint32_t> uid;  // nullopt: any user's
  int64_t after_row = 0;        // next page: rows above this id
  int limit = 100;
};

class HistoryFile {
 public:
  enum class Kept { kRuns, kReports };
  // Numbers of rows removed, by reason.
  struct Pruned {
    int64_t old = 0;
    int64_t beyond_number = 0;
    int64_t all() const { return old + beyond_number; }
  };

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
  // Adds the reports, or replaces earlier ones of the same runs and nodes, in
  // one transaction.
  [[nodiscard]] Status put_reports(const std::vector<KeptReport>& reports);
  [[nodiscard]] Result<std::vector<ReportRow>> find_reports(
      const ReportQuery& query);
  // Removes at most max_rows rows: those last written before before_unix_s, and
  // when all of these are gone the oldest beyond most_rows.
  [[nodiscard]] Result<Pruned> prune(Kept kept, double before_unix_s,
                                     int64_t most_rows, int64_t max_rows);

 private:
  explicit HistoryFile(std::unique_ptr<Database> database)
      : database_(std::move(database)) {}
  [[nodiscard]] Result<Statement*> prepared(const std::string& sql);
  // Removes rows whose column is below the limit, an expression of the number
  // ?1, the lowest first. Returns their number.
  [[nodiscard]] Result<int64_t> remove(const std::string& table,
                                       const std::string& column,
                                       const std::string& limit, double number,
                                       int64_t max_rows);
  // Binds and runs the statement once for each row, in one transaction.
  template <class Row, class Bind>
  [[nodiscard]] Status put_all(const std::string& sql,
                               const std::vector<Row>& rows, const Bind& bind);

  std::unique_ptr<Database> database_;
  std::map<std::string, Statement> statements_;  // prepared, by SQL text
};

// Migrates the tables to the newest version; HistoryFile::open() calls it.
[[nodiscard]] Status migrate_history(Database& database,
                                     const std::string& path);

}  // namespace penstock
