#include "select_ext/ctld/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "common/clock.h"
#include "common/unique_fd.h"

namespace penstock {
namespace {

// journal_size_limit: size of the write-ahead log after a checkpoint, 16 MiB.
constexpr const char* kSettings =
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=FULL;"
    "PRAGMA journal_size_limit=16777216;"
    "PRAGMA trusted_schema=OFF;";

// 0, or the errno value that makes an existing file unusable.
int why_unusable(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return errno;
  if (S_ISDIR(found.st_mode)) return EISDIR;
  const int usable =
      ::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS);
  return usable == 0 ? 0 : errno;
}

// SQLite would create the file readable for all, so create it here. An existing
// file is not opened: closing it would drop the POSIX locks of this process's
// other connections. The next process that closes the database would then
// remove their write-ahead log.
Status make_file(const std::string& path) {
  const UniqueFd fd(::open(
      path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600));
  if (fd) return Done{};
  const int why = errno == EEXIST ? why_unusable(path) : errno;
  if (why == 0) return Done{};
  if (why == ENOSPC || why == EDQUOT) {
    return Error{Code::kLimit, why, path + ": no space left on the disk"};
  }
  return system_error(why, path);
}

}  // namespace

void Statement::Finalise::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void Statement::note(int code) {
  if (code != SQLITE_OK && bind_error_ == 0) bind_error_ = code;
}

Statement& Statement::bind(int index, int64_t value) {
  note(sqlite3_bind_int64(it_.get(), index + 1, value));
  return *this;
}

Statement& Statement::bind(int index, double value) {
  note(sqlite3_bind_double(it_.get(), index + 1, value));
  return *this;
}

Statement& Statement::bind(int index, std::string_view text) {
  note(sqlite3_bind_text(it_.get(), index + 1, text.data(), int(text.size()),
                         SQLITE_TRANSIENT));
  return *this;
}

Statement& Statement::bind_blob(int index, std::string_view bytes) {
  note(sqlite3_bind_blob(it_.get(), index + 1, bytes.data(), int(bytes.size()),
                         SQLITE_TRANSIENT));
  return *this;
}

Statement& Statement::bind_null(int index) {
  note(sqlite3_bind_null(it_.get(), index + 1));
  return *this;
}

Result<bool> Statement::step() {
  const int bound = bind_error_;
  bind_error_ = 0;
  if (bound != 0) {
    reset();
    return database_->error(bound);
  }
  if (!walking_) database_->start_clock();
  const int code = sqlite3_step(it_.get());
  walking_ = code == SQLITE_ROW;
  if (walking_) return true;
  Result<bool> done = false;
  if (code != SQLITE_DONE) done = database_->error(code);
  reset();
  return done;
}

void Statement::reset() {
  walking_ = false;
  sqlite3_reset(it_.get());
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(it_.get(), column) == SQLITE_NULL;
}

int64_t Statement::whole(int column) const {
  return sqlite3_column_int64(it_.get(), column);
}

double Statement::number(int column) const {
  return sqlite3_column_double(it_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* data = sqlite3_column_text(it_.get(), column);
  if (!data) return "";
  return {reinterpret_cast<const char*>(data),
          size_t(sqlite3_column_bytes(it_.get(), column))};
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path,
                                                 int busy_timeout_ms) {
  if (Status made = make_file(path); !made) return std::move(made).error();
  std::unique_ptr<Database> database(new Database(path));
  const int code =
      sqlite3_open_v2(path.c_str(), &database->it_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) return database->error(code);
  sqlite3_extended_result_codes(database->it_, 1);
  sqlite3_busy_timeout(database->it_, busy_timeout_ms);
  if (Status set = database->run(kSettings); !set) {
    return std::move(set).error();
  }
  return database;
}

Database::~Database() { sqlite3_close_v2(it_); }

Result<Statement> Database::prepare(std::string_view sql) {
  Statement statement;
  sqlite3_stmt* prepared = nullptr;
  const int code =
      sqlite3_prepare_v3(it_, sql.data(), int(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  if (code != SQLITE_OK) return error(code);
  statement.database_ = this;
  statement.it_.reset(prepared);
  return statement;
}

Status Database::run(const std::string& sql) {
  start_clock();
  const int code = sqlite3_exec(it_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code);
  return Done{};
}

Result<int64_t> Database::ask(const std::string& sql) {
  Result<Statement> statement = prepare(sql);
  if (!statement) return std::move(statement).error();
  Result<bool> row = statement->step();
  if (!row) return std::move(row).error();
  return *row ? statement->whole(0) : 0;
}

void Database::limit_time(int milliseconds) {
  constexpr int kInstructions = 1000;  // some tens of microseconds
  limit_ns_ = uint64_t(milliseconds) * 1'000'000u;
  sqlite3_progress_handler(it_, kInstructions, &Database::is_late, this);
}

int Database::is_late(void* self) {
  const auto* database = static_cast<const Database*>(self);
  return monotonic_ns() > database->deadline_ns_ ? 1 : 0;
}

void Database::start_clock() {
  if (limit_ns_ != 0) deadline_ns_ = monotonic_ns() + limit_ns_;
}

int64_t Database::changed_rows() const { return sqlite3_changes64(it_); }

Error Database::error(int code) const {
  const std::string what =
      path_ + ": " + (it_ ? sqlite3_errmsg(it_) : sqlite3_errstr(code));
  const int saved_errno = it_ ? sqlite3_system_errno(it_) : 0;
  const bool no_space = saved_errno == ENOSPC || saved_errno == EDQUOT;
  const int kind = code & 0xff;
  switch (kind == SQLITE_IOERR && no_space ? SQLITE_FULL : kind) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Error{Code::kUnavailable, 0,
                   what + " (by another process; end it)"};
    case SQLITE_INTERRUPT:
      return Error{Code::kUnavailable, 0,
                   path_ + ": the search takes too long; ask for less"};
    case SQLITE_FULL:
      return Error{Code::kLimit, saved_errno,
                   what + "; free some space on its disk"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return invalid(what);
    default:
      return Error{Code::kIo, saved_errno, what};
  }
}

}  // namespace penstock
