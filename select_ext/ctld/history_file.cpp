#include "select_ext/ctld/history_file.h"

#include <fmt/format.h>

#include <cmath>
#include <type_traits>

namespace penstock {
namespace {

// The columns in the order of visit_columns().
constexpr const char* kColumns =
    "cluster, job_id, restart_count, submit_unix_s, array_job_id, "
    "array_task_id, het_job_id, het_offset, uid, user, account, name, "
    "command_hash, kind, nodes, ranks, gpus, model, batch, start_unix_s, "
    "end_unix_s, state, measured_s, ceiling_samples_per_s, "
    "loader_cpu_s_per_sample, storage_bytes_per_sample, "
    "trainer_reserve_cores, mean_rate_samples_per_s, grant_changes, "
    "last_seen_unix_s, wall_s, compute_s, fetch_stall_s, prep_stall_s, "
    "exchange_stall_s, waited_s, active_s, home_core_s, away_core_s, "
    "lent_core_s, floor_samples_per_s";
constexpr int kColumnCount = 41;
constexpr size_t kMaxTextBytes = 256;

template <class Record, class Visitor>
void visit_columns(Record& job, Visitor&& visit) {
  visit(job.cluster);
  visit(job.job_id);
  visit(job.restart_count);
  visit(job.submit_unix_s);
  visit(job.array_job_id);
  visit(job.array_task_id);
  visit(job.het_job_id);
  visit(job.het_offset);
  visit(job.uid);
  visit(job.user);
  visit(job.account);
  visit(job.name);
  visit(job.command_hash);
  visit(job.kind);
  visit(job.nodes);
  visit(job.ranks);
  visit(job.gpus);
  visit(job.model);
  visit(job.batch);
  visit(job.start_unix_s);
  visit(job.end_unix_s);
  visit(job.state);
  visit(job.measured_s);
  visit(job.ceiling_samples_per_s);
  visit(job.loader_cpu_s_per_sample);
  visit(job.storage_bytes_per_sample);
  visit(job.trainer_reserve_cores);
  visit(job.mean_rate_samples_per_s);
  visit(job.grant_changes);
  visit(job.last_seen_unix_s);
  for (const RunField& field : kRunFields) visit(job.run.*field.value);
}

// A record holds users' text and measured figures. Neither may make a row that
// the table refuses.
struct Binder {
  Statement& statement;
  int index = 0;

  void operator()(const std::string& text) {
    statement.bind(index++, std::string_view(text).substr(0, kMaxTextBytes));
  }
  void operator()(double number) {
    statement.bind(index++, std::isfinite(number) ? number : 0.0);
  }
  void operator()(const std::optional<double>& number) {
    const bool known = number && std::isfinite(*number);
    statement.bind(index++, known ? number : std::nullopt);
  }
  void operator()(const std::optional<uint32_t>& whole) {
    statement.bind(index++, whole);
  }
  template <class T>
  void operator()(T whole) requires std::is_integral_v<T> {
    statement.bind(index++, int64_t(whole));
  }
};

struct Reader {
  const Statement& row;
  int index = 0;

  void operator()(std::string& text) { text = row.text(index++); }
  void operator()(double& number) { number = row.number(index++); }
  template <class T>
  void operator()(T& whole) requires std::is_integral_v<T> {
    whole = T(row.whole(index++));
  }
  template <class T>
  void operator()(std::optional<T>& value) {
    const int at = index++;
    if (row.is_null(at)) return;
    if constexpr (std::is_integral_v<T>) {
      value = T(row.whole(at));
    } else {
      value = row.number(at);
    }
  }
};

std::string put_sql() {
  std::string marks = "?";
  for (int i = 1; i < kColumnCount; ++i) marks += ",?";
  std::string sets, column;
  for (const char* c = kColumns;; ++c) {
    if (*c != ',' && *c != '\0') {
      if (*c != ' ') column += *c;
      continue;
    }
    sets += fmt::format("{}{}=excluded.{}", sets.empty() ? "" : ",", column,
                        column);
    column.clear();
    if (*c == '\0') break;
  }
  // An update keeps the row's id, so that ids have no gaps.
  return std::string("INSERT INTO jobs (") + kColumns + ") VALUES (" + marks +
         ") ON CONFLICT (cluster, job_id, restart_count, submit_unix_s) "
         "DO UPDATE SET " +
         sets;
}

std::string find_sql(const HistoryQuery& query) {
  std::string sql = std::string("SELECT id, ") + kColumns + " FROM jobs WHERE";
  sql += query.uid ? " uid = ?1" : " ?1 IS NULL";
  if (query.job_id) {
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
         "9223372036854775807) ORDER BY id DESC LIMIT ?5";
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

Status HistoryFile::put(const std::vector<JobRecord>& records) {
  static const std::string* const kSql = new std::string(put_sql());
  Result<Statement*> statement = prepared(*kSql);
  if (!statement) return std::move(statement).error();
  if (Status begun = database_->run("BEGIN IMMEDIATE"); !begun) return begun;
  Status status = Done{};
  for (const JobRecord& record : records) {
    visit_columns(record, Binder{**statement});
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

Result<std::vector<HistoryRow>> HistoryFile::find(const HistoryQuery& query) {
  Result<Statement*> prepared_query = prepared(find_sql(query));
  if (!prepared_query) return std::move(prepared_query).error();
  Statement& statement = **prepared_query;
  statement.bind(0, query.uid)
      .bind(1, query.job_id)
      .bind(2, query.since_unix_s)
      .bind(3, query.before_row)
      .bind(4, int64_t(query.limit));
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

Result<int64_t> HistoryFile::prune(double before_unix_s, int64_t max_jobs,
                                   int64_t max_rows) {
  Result<Statement*> statement = prepared(
      "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE "
      "last_seen_unix_s < ?1 LIMIT ?2)");
  if (!statement) return std::move(statement).error();
  (*statement)->bind(0, before_unix_s).bind(1, max_rows);
  if (Result<bool> done = (*statement)->step(); !done) {
    return std::move(done).error();
  }
  const int64_t old = database_->changed_rows();
  // Ids rise by one per record, so at most max_jobs rows are above this one.
  statement = prepared(
      "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE "
      "id <= (SELECT max(id) FROM jobs) - ?1 ORDER BY id LIMIT ?2)");
  if (!statement) return std::move(statement).error();
  (*statement)->bind(0, max_jobs).bind(1, max_rows - old);
  if (Result<bool> done = (*statement)->step(); !done) {
    return std::move(done).error();
  }
  return old + database_->changed_rows();
}

Status HistoryFile::set_value(const std::string& key,
                              const std::string& value) {
  Result<Statement*> statement = prepared(
      "INSERT INTO single_values VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE "
      "SET value = excluded.value");
  if (!statement) return std::move(statement).error();
  (*statement)->bind(0, std::string_view(key)).bind(1, std::string_view(value));
  if (Result<bool> done = (*statement)->step(); !done) {
    return std::move(done).error();
  }
  return Done{};
}

Result<std::string> HistoryFile::value(const std::string& key) {
  Result<Statement*> statement =
      prepared("SELECT value FROM single_values WHERE key = ?1");
  if (!statement) return std::move(statement).error();
  (*statement)->bind(0, std::string_view(key));
  Result<bool> row = (*statement)->step();
  if (!row) return std::move(row).error();
  std::string value = *row ? (*statement)->text(0) : "";
  (*statement)->reset();
  return value;
}

}  // namespace penstock
