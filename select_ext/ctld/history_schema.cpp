// The history's tables, as a list of migrations. Never change a released step:
// new tables and columns get a step of their own.
#include <fmt/format.h>

#include <array>

#include "select_ext/ctld/history_file.h"

namespace penstock {
namespace {

constexpr int64_t kApplicationId = 0x504e5354;  // "PNST"

// kSteps[v] migrates version v to v + 1.
constexpr auto kSteps = std::to_array<const char*>({
    R"sql(
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY,
  cluster TEXT NOT NULL,
  job_id INTEGER NOT NULL,
  restart_count INTEGER NOT NULL,
  submit_unix_s REAL NOT NULL,
  array_job_id INTEGER,
  array_task_id INTEGER,
  het_job_id INTEGER,
  het_offset INTEGER,
  uid INTEGER NOT NULL,
  user TEXT NOT NULL,
  account TEXT NOT NULL,
  name TEXT NOT NULL,
  command_hash TEXT NOT NULL,
  kind TEXT NOT NULL,
  nodes INTEGER NOT NULL,
  ranks INTEGER NOT NULL,
  gpus INTEGER NOT NULL,
  model TEXT NOT NULL,
  batch INTEGER NOT NULL,
  start_unix_s REAL,
  end_unix_s REAL,
  state TEXT NOT NULL,
  measured_s REAL NOT NULL,
  ceiling_samples_per_s REAL,
  loader_cpu_s_per_sample REAL,
  storage_bytes_per_sample REAL,
  trainer_reserve_cores REAL,
  mean_rate_samples_per_s REAL,
  UNIQUE (cluster, job_id, restart_count, submit_unix_s)
);
CREATE INDEX jobs_of_kind ON jobs (uid, kind, id);
PRAGMA application_id = 1347310420;
)sql",
    R"sql(
ALTER TABLE jobs ADD COLUMN grant_changes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN last_seen_unix_s REAL NOT NULL DEFAULT 0;
UPDATE jobs SET last_seen_unix_s = coalesce(end_unix_s, start_unix_s,
                                            submit_unix_s);
DROP INDEX jobs_of_kind;
CREATE INDEX jobs_by_age ON jobs (last_seen_unix_s);
CREATE INDEX jobs_of_user ON jobs (uid, id);
CREATE INDEX jobs_by_number ON jobs (job_id);
CREATE INDEX jobs_by_array ON jobs (array_job_id)
  WHERE array_job_id IS NOT NULL;
CREATE INDEX jobs_by_het_job ON jobs (het_job_id)
  WHERE het_job_id IS NOT NULL;
CREATE TABLE single_values (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;
)sql",
    // Breakdown of a run's time and cores; NULL: unknown.
    R"sql(
ALTER TABLE jobs ADD COLUMN wall_s REAL;
ALTER TABLE jobs ADD COLUMN compute_s REAL;
ALTER TABLE jobs ADD COLUMN fetch_stall_s REAL;
ALTER TABLE jobs ADD COLUMN prep_stall_s REAL;
ALTER TABLE jobs ADD COLUMN exchange_stall_s REAL;
ALTER TABLE jobs ADD COLUMN waited_s REAL;
ALTER TABLE jobs ADD COLUMN active_s REAL;
ALTER TABLE jobs ADD COLUMN home_core_s REAL;
ALTER TABLE jobs ADD COLUMN away_core_s REAL;
ALTER TABLE jobs ADD COLUMN lent_core_s REAL;
ALTER TABLE jobs ADD COLUMN floor_samples_per_s REAL;
)sql",
    // Reports of nodes.
    R"sql(
CREATE TABLE reports (
  id INTEGER PRIMARY KEY,
  job_id INTEGER NOT NULL,
  node TEXT NOT NULL,
  started_unix_s REAL NOT NULL,
  updated_unix_s REAL NOT NULL,
  uid INTEGER NOT NULL,
  kept_unix_s REAL NOT NULL,
  packed BLOB NOT NULL,
  UNIQUE (job_id, node, started_unix_s)
);
CREATE INDEX reports_by_job ON reports (job_id);
CREATE INDEX reports_by_age ON reports (kept_unix_s);
)sql",
    // Runs that were only observed, and what lending would have done for them.
    R"sql(
ALTER TABLE jobs ADD COLUMN observed_s REAL;
ALTER TABLE jobs ADD COLUMN would_borrow_core_s REAL;
ALTER TABLE jobs ADD COLUMN would_lend_core_s REAL;
ALTER TABLE jobs ADD COLUMN would_save_s REAL;
ALTER TABLE jobs ADD COLUMN would_save_low_s REAL;
ALTER TABLE jobs ADD COLUMN would_save_high_s REAL;
)sql",
    // What the job was given, and used of it.
    R"sql(
ALTER TABLE jobs ADD COLUMN allocated_core_s REAL;
ALTER TABLE jobs ADD COLUMN used_core_s REAL;
ALTER TABLE jobs ADD COLUMN gpu_s REAL;
ALTER TABLE jobs ADD COLUMN gpu_busy_s REAL;
ALTER TABLE jobs ADD COLUMN gpu_idle_s REAL;
)sql",
    // What a guest borrowed.
    R"sql(
ALTER TABLE jobs ADD COLUMN guest_core_s REAL;
)sql"});
constexpr int kHistoryVersion = kSteps.size();
static_assert(kApplicationId == 1347310420);

Error foreign(const std::string& path, const std::string& why) {
  return Error{Code::kPermissionDenied, 0,
               path + ": " + why + "; name another HistoryFile="};
}

// The version of the tables, 0 for an empty database.
Result<int64_t> version_of(Database& database, const std::string& path) {
  Result<int64_t> version = database.ask("PRAGMA user_version");
  if (!version) return version;
  Result<int64_t> application = database.ask("PRAGMA application_id");
  if (!application) return application;
  Result<int64_t> tables = database.ask("SELECT count(*) FROM sqlite_schema");
  if (!tables) return tables;
  if (*application != kApplicationId && (*version != 0 || *tables != 0)) {
    return foreign(path, "is another program's database");
  }
  if (*version < 0 || *version > kHistoryVersion) {
    return foreign(path, fmt::format("its tables have version {}, this "
                                     "penstockctld knows those up to {}: "
                                     "install the newer Penstock again",
                                     *version, kHistoryVersion));
  }
  return version;
}

Status make_steps(Database& database, const std::string& path) {
  // Read again under the lock: another process may have migrated the tables.
  Result<int64_t> version = version_of(database, path);
  if (!version) return std::move(version).error();
  for (size_t step = size_t(*version); step < kSteps.size(); ++step) {
    if (Status made = database.run(kSteps[step]); !made) {
      return std::move(made).error().wrap(
          fmt::format("tables from version {} to {}", step, step + 1));
    }
  }
  return database.run(fmt::format("PRAGMA user_version = {}", kHistoryVersion));
}

}  // namespace

Status migrate_history(Database& database, const std::string& path) {
  Result<int64_t> version = version_of(database, path);
  if (!version) return std::move(version).error();
  if (*version == kHistoryVersion) return Done{};
  if (Status begun = database.run("BEGIN IMMEDIATE"); !begun) return begun;
  Status made = make_steps(database, path);
  if (made) made = database.run("COMMIT");
  if (!made) (void)database.run("ROLLBACK");
  return made;
}

}  // namespace penstock
