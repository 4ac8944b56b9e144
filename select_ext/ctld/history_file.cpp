#include "select_ext/ctld/history_file.h"

#include <fmt/format.h>

#include <cmath>
#include <type_traits>

namespace penstock {
namespace {

constexpr size_t kMaxTextBytes = 256;

// Calls visit(name, field) for each column.
template <class Record, class Visitor>
void visit_columns(Record& job, Visitor&& visit) {
  visit_fields(visit, job);
  visit("command_hash", job.command_hash);
}

// A record holds users' text and measured figures. Neither may make a row that
// the table refuses.
struct Binder {
  Statement& statement;
  int index = 0;

  void operator()(const char* /*name*/, const std::string& text) {
    statement.bind(index++, std::string_view(text).substr(0, kMaxTextBytes));
  }
  void operator()(const char* /*name*/, double number) {
    statement.bind(index++, std::isfinite(number) ? number : 0.0);
  }
  void operator()(const char* /*name*/, const std::optional<double>& number) {
    const bool known = number && std::isfinite(*number);
    statement.bind(index++, known ? number : std::nullopt);
  }
  void operator()(const char* /*name*/, const std::optional<uint32_t>& whole) {
    statement.bind(index++, whole);
  }
  template <class T>
  void operator()(const char* /*name*/,
                  T whole) requires std::is_integral_v<T> {
    statement.bind(index++, int64_t(whole));
  }
};

struct Reader {
  const Statement& row;
  int index = 0;

  void operator()(const char* /*name*/, std::string& text) {
    text = row.text(index++);
  }
  void operator()(const char* /*name*/, double& number) {
    number = row.number(index++);
  }
  template <class T>
  void operator()(const char* /*name*/,
                  T& whole) requires std::is_integral_v<T> {
    whole = T(row.whole(index++));
  }
  template <class T>
  void operator()(const char* /*name*/, std::optional<T>& value) {
    const int at = index++;
    if (row.is_null(at)) return;
    if constexpr (std::is_integral_v<T>) {
      value = T(row.whole(at));
    } else {
      value = row.number(at);
    }
  }
};

std::vector<std::string> columns() {
  std::vector<std::string> names;
  const JobRecord none;
  visit_columns(none, [&](const char* name, const auto& /*field*/) {
    names.emplace_back(name);
  });
  return names;
}

std::string put_sql() {
  const std::vector<std::string> names = columns();
  std::vector<std::string> sets;
  for (const std::string& name : names) {
    sets.push_back(fmt::format("{0}=excluded.{0}", name));
  }
  // An update keeps the row's id, so that ids have no gaps.
  return fmt::format(
      "INSERT INTO jobs ({}) VALUES ({}) ON CONFLICT (cluster, job_id, "
      "restart_count, submit_unix_s) DO UPDATE SET {}",
      fmt::join(names, ","),
      fmt::join(std::vector<std::string>(names.size(), "?"), ","),
      fmt::join(sets, ","));
}

std::string find_sql(const HistoryQuery& query) {
  std::string sql =
      fmt::format("SELECT id, {} FROM jobs WHERE", fmt::join(columns(), ","));
  sql += query.uid ? " uid = ?1" : " ?1 IS NULL";
  if (query.job_id && query.is_own) {
    sql += " AND job_id = ?2";
  } else if (query.job_id) {
    sql +=
        " AND id IN (SELECT id FROM jobs WHERE job_id = ?2 UNION SELECT id "
        "FROM jobs WHERE array_job_id = ?2 UNION SELECT id FROM jobs WHERE "
        "het_job_id = ?2)";
  } else {
    sql += " AND ?2 IS NULL";
  }
  if (query.measured_only) {
    sql += " AND end_unix_s IS NOT NULL AND ceiling_samples_per_s IS NOT NULL";
  }
  return sql +
         " AND last_seen_unix_s >= ?3 AND id < coalesce(?4, "
         "9223372036854775807) AND substr(kind, 1, length(?6)) = ?6 "
         "ORDER BY id DESC LIMIT ?5";
}

}  // namespace

Result<HistoryFile> HistoryFile::open(const std::string& path,
                                      int busy_timeout_ms) {
  Result<std::unique_ptr<Database>> database =
      Database::open(path, busy_timeout_ms);
  if (!database) return std::move(database).error();
  if (Status ready = migrate_history(**database, path); !ready) {
    return std::move(ready).error();
  }
  return HistoryFile(*std::move(database));
}

Result<Statement*> HistoryFile::prepared(const std::string& sql) {
  const auto found = statements_.find(sql);
  if (found != statements_.end()) return &found->second;
  Result<Statement> statement = database_->prepare(sql);
  if (!statement) return std::move(statement).error();
  return &statements_.emplace(sql, *std::move(statement)).first->second;
}

template <class Row, class Bind>
Status HistoryFile::put_all(const std::string& sql,
                            const std::vector<Row>& rows, const Bind& bind) {
  Result<Statement*> statement = prepared(sql);
  if (!statement) return std::move(statement).error();
  if (Status begun = database_->run("BEGIN IMMEDIATE"); !begun) return begun;
  Status status = Done{};
  for (const Row& row : rows) {
    bind(**statement, row);
    if (Result<bool> done = (*statement)->step(); !done) {
      status = std::move(done).error();
      break;
    }
  }
  if (status) status = database_->run("COMMIT");
  // After some errors SQLite has already rolled back; this ROLLBACK then fails,
  // which is harmless.
  if (!status) (void)database_->run("ROLLBACK");
  return status;
}

Status HistoryFile::put(const std::vector<JobRecord>& records) {
  static const std::string* const kSql = new std::string(put_sql());
  return put_all(*kSql, records,
                 [](Statement& statement, const JobRecord& record) {
                   visit_columns(record, Binder{statement});
                 });
}

Status HistoryFile::put_reports(const std::vector<KeptReport>& reports) {
  return put_all(
      "INSERT INTO reports (job_id, node, started_unix_s, updated_unix_s, uid, "
      "kept_unix_s, packed) VALUES (?,?,?,?,?,?,?) ON CONFLICT (job_id, node, "
      "started_unix_s) DO UPDATE SET updated_unix_s=excluded.updated_unix_s, "
      "uid=excluded.uid, kept_unix_s=excluded.kept_unix_s, "
      "packed=excluded.packed "
      "WHERE excluded.updated_unix_s > reports.updated_unix_s",
      reports, [](Statement& statement, const KeptReport& report) {
        statement.bind(0, int64_t(report.job_id))
            .bind(1, std::string_view(report.node).substr(0, kMaxTextBytes))
            .bind(2, report.started_unix_s)
            .bind(3, report.updated_unix_s)
            .bind(4, int64_t(report.uid))
            .bind(5, report.kept_unix_s)
            .bind_blob(6, report.packed);
      });
}

Result<std::vector<ReportRow>> HistoryFile::find_reports(
    const ReportQuery& query) {
  Result<Statement*> prepared_query = prepared(
      "SELECT id, job_id, node, started_unix_s, updated_unix_s, uid, "
      "kept_unix_s, packed FROM reports WHERE job_id = ?1 AND (?2 IS NULL OR "
      "uid = ?2) AND id > ?3 "
      "ORDER BY id LIMIT ?4");
  if (!prepared_query) return std::move(prepared_query).error();
  Statement& statement = **prepared_query;
  statement.bind(0, int64_t(query.job_id))
      .bind(1, query.uid)
      .bind(2, query.after_row)
      .bind(3, int64_t(query.limit));
  std::vector<ReportRow> rows;
  while (true) {
    Result<bool> row = statement.step();
    if (!row) return std::move(row).error();
    if (!*row) return rows;
    KeptReport report;
    report.job_id = uint32_t(statement.whole(1));
    report.node = statement.text(2);
    report.started_unix_s = statement.number(3);
    report.updated_unix_s = statement.number(4);
    report.uid = uint32_t(statement.whole(5));
    report.kept_unix_s = statement.number(6);
    report.packed = statement.text(7);
    rows.push_back({statement.whole(0), std::move(report)});
  }
}

Result<std::vector<HistoryRow>> HistoryFile::find(const HistoryQuery& query) {
  Result<Statement*> prepared_query = prepared(find_sql(query));
  if (!prepared_query) return std::move(prepared_query).error();
  Statement& statement = **prepared_query;
  statement.bind(0, query.uid)
      .bind(1, query.job_id)
      .bind(2, query.since_unix_s)
      .bind(3, query.before_row)
      .bind(4, int64_t(query.limit))
      .bind(5, query.kind);
  std::vector<HistoryRow> rows;
  while (true) {
    Result<bool> row = statement.step();
    if (!row) return std::move(row).error();
    if (!*row) return rows;
    HistoryRow& found = rows.emplace_back();
    found.row = statement.whole(0);
    visit_columns(found.job, Reader{statement, 1});
  }
}

Status HistoryFile::limit_to_reading(int milliseconds) {
  database_->limit_time(milliseconds);
  return database_->run("PRAGMA query_only=ON");
}

Result<int64_t> HistoryFile::remove(const std::string& table,
                                    const std::string& column,
                                    const std::string& limit, double number,
                                    int64_t max_rows) {
  // The order by the column itself has SQLite use its index.
  Result<Statement*> statement = prepared(fmt::format(
      "DELETE FROM {0} WHERE id IN (SELECT id FROM {0} WHERE {1} < {2} "
      "ORDER BY {1} LIMIT ?2)",
      table, column, limit));
  if (!statement) return std::move(statement).error();
  (*statement)->bind(0, number).bind(1, max_rows);
  if (Result<bool> done = (*statement)->step(); !done) {
    return std::move(done).error();
  }
  return database_->changed_rows();
}

Result<HistoryFile::Pruned> HistoryFile::prune(Kept kept, double before_unix_s,
                                               int64_t most_rows,
                                               int64_t max_rows) {
  const bool is_runs = kept == Kept::kRuns;
  const std::string table = is_runs ? "jobs" : "reports";
  const Result<int64_t> old =
      remove(table, is_runs ? "last_seen_unix_s" : "kept_unix_s", "?1",
             before_unix_s, max_rows);
  if (!old) return old.error();
  if (*old == max_rows) return Pruned{*old, 0};
  // Ids rise by one per row, so at most most_rows rows are not below this one.
  const Result<int64_t> beyond = remove(
      table, "id", fmt::format("(SELECT max(id) FROM {}) - ?1 + 1", table),
      double(most_rows), max_rows - *old);
  if (!beyond) return beyond.error();
  return Pruned{*old, *beyond};
}

}  // namespace penstock
