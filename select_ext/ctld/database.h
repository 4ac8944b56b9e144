// SQLite with Results: a connection and its statements. Private to ctld's
// history. Not thread-safe: one Database per thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "common/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace penstock {

class Database;

// A prepared statement. Parameters and columns count from 0.
class Statement {
 public:
  Statement& bind(int index, int64_t value);
  Statement& bind(int index, double value);
  Statement& bind(int index, std::string_view text);
  Statement& bind_blob(int index, std::string_view bytes);
  template <class T>
  Statement& bind(int index, const std::optional<T>& value) {
    if (!value) return bind_null(index);
    if constexpr (std::is_integral_v<T>) {
      return bind(index, int64_t(*value));
    } else {
      return bind(index, *value);
    }
  }

  // True: there is a row. False: the statement is done and may be bound again.
  // Errors: Database::error()'s; the statement may be bound again then, too.
  [[nodiscard]] Result<bool> step();
  // Ends an iteration before its last row and so releases its lock.
  void reset();

  bool is_null(int column) const;
  int64_t whole(int column) const;
  double number(int column) const;
  std::string text(int column) const;  // or the bytes of a blob

 private:
  friend class Database;
  struct Finalise {
    void operator()(sqlite3_stmt* statement) const;
  };

  Statement& bind_null(int index);
  void note(int code);

  Database* database_ = nullptr;
  std::unique_ptr<sqlite3_stmt, Finalise> it_;
  int bind_error_ = 0;
  bool walking_ = false;  // iterating: a row was returned, the last one not yet
};

class Database {
 public:
  // Opens or creates the file (mode 0600) in WAL mode; every commit is synced.
  //   busy_timeout_ms  limit of each step's wait for another connection's lock
  // Errors: error()'s; kNotFound and kPermissionDenied for the file itself.
  [[nodiscard]] static Result<std::unique_ptr<Database>> open(
      const std::string& path, int busy_timeout_ms);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[nodiscard]] Result<Statement> prepare(std::string_view sql);
  // Runs one or more statements and ignores their rows.
  [[nodiscard]] Status run(const std::string& sql);
  // The first column of the first row, as a whole number; 0 without a row.
  [[nodiscard]] Result<int64_t> ask(const std::string& sql);
  int64_t changed_rows() const;  // by the last statement
  // Ends every later statement that runs longer, with kUnavailable.
  void limit_time(int milliseconds);

  // The error of the last call, which failed with `code`; names the file:
  //   kUnavailable      locked by another process for longer than the
  //                     time-out; or ended by limit_time()
  //   kLimit            no space left, on the disk or in the file
  //   kInvalidArgument  the file is damaged, or not a database
  //   kIo               anything else
  Error error(int code) const;

 private:
  explicit Database(std::string path) : path_(std::move(path)) {}

  // SQLite calls it repeatedly while a statement runs; nonzero ends the
  // statement.
  static int is_late(void* self);
  void start_clock();

  friend class Statement;
  std::string path_;
  sqlite3* it_ = nullptr;
  uint64_t limit_ns_ = 0;  // 0: none
  uint64_t deadline_ns_ = 0;
};

}  // namespace penstock
