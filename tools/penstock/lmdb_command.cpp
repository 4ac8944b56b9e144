#include "tools/penstock/lmdb_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <system_error>

#include "common/clock.h"
#include "common/units.h"
#include "loader/lmdb/import.h"
#include "loader/lmdb/lmdb_database.h"
#include "loader/lmdb/sidecar_file.h"
#include "loader/lmdb/verify.h"
#include "penstock/loader/dataset.h"

namespace penstock {
namespace {

std::atomic<bool> interrupted{false};

void on_interrupt(int) { interrupted = true; }

// While it stands Ctrl-C is a request, so that what is half done is removed.
class InterruptAsRequest {
 public:
  InterruptAsRequest() {
    interrupted = false;
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    ::sigaction(SIGINT, &action, &int_);
    ::sigaction(SIGTERM, &action, &term_);
  }
  InterruptAsRequest(const InterruptAsRequest&) = delete;
  InterruptAsRequest& operator=(const InterruptAsRequest&) = delete;
  ~InterruptAsRequest() {
    ::sigaction(SIGINT, &int_, nullptr);
    ::sigaction(SIGTERM, &term_, nullptr);
  }

 private:
  struct sigaction int_ {};
  struct sigaction term_ {};
};

// A line on a terminal for what takes longer than two seconds.
class RecordProgress {
 public:
  explicit RecordProgress(const char* what)
      : what_(what),
        is_terminal_(::isatty(STDERR_FILENO) == 1),
        shown_s_(now_s() + 2 - kEvery_s) {}
  RecordProgress(const RecordProgress&) = delete;
  RecordProgress& operator=(const RecordProgress&) = delete;
  ~RecordProgress() {
    if (is_shown_) std::fputs("\r\033[K", stderr);
  }

  // Whether to go on.
  bool operator()(uint64_t done, uint64_t all) {
    if (is_terminal_ && now_s() - shown_s_ > kEvery_s) show(done, all);
    return !interrupted;
  }

 private:
  static constexpr double kEvery_s = 0.5;
  static double now_s() { return double(monotonic_ns()) * 1e-9; }

  void show(uint64_t done, uint64_t all) {
    shown_s_ = now_s();
    is_shown_ = true;
    std::fprintf(stderr, "\r\033[K%s: %.0f%% of %llu records", what_,
                 100.0 * double(done) / double(all),
                 static_cast<unsigned long long>(all));
    std::fflush(stderr);
  }

  const char* what_;
  const bool is_terminal_;
  bool is_shown_ = false;
  double shown_s_;
};

// How the records of an index are kept, for people.
std::string kept(const lmdb::RecordIndex& index) {
  if (index.list().size() == 0) return "all computed";
  if (index.computed() == 0) return "all listed";
  return fmt::format("{} computed, {} listed", index.computed(),
                     index.list().size());
}

// How many records have a label, for people.
std::string labelled(uint64_t labels, uint64_t records) {
  if (labels == 0) return "no labels";
  if (labels == records) return "all labelled";
  return fmt::format("{} labelled", labels);
}

Result<std::shared_ptr<const Dataset>> open_source(
    const std::vector<std::string>& paths) {
  if (paths.size() == 1 && lmdb::is_database(paths[0])) {
    return invalid(paths[0] +
                   ": an LMDB database already; copy it with mdb_copy");
  }
  std::error_code ignored;
  for (const std::string& path : paths) {
    if (std::filesystem::is_regular_file(path, ignored) &&
        !path.ends_with(".tar")) {
      return invalid(path +
                     ": neither a folder of pictures nor a tar shard (.tar)");
    }
  }
  return open_dataset(paths);
}

}  // namespace

Status run_lmdb_index(const LmdbArguments& arguments, Terminal& terminal) {
  const uint64_t start_ns = monotonic_ns();
  auto database =
      lmdb::Database::open(arguments.database, {.use_sidecar = false});
  if (!database) return std::move(database).error();
  const double walk_s = double(monotonic_ns() - start_ns) * 1e-9;
  auto bytes = lmdb::write_sidecar(*database);
  if (!bytes) return std::move(bytes).error();
  const std::string file = lmdb::sidecar_path(database->path());
  const lmdb::RecordIndex& index = database->index();
  if (arguments.json) {
    const nlohmann::ordered_json json = {
        {"database", database->path()}, {"index", file},
        {"index_bytes", *bytes},        {"records", index.size()},
        {"computed", index.computed()}, {"walk_s", walk_s}};
    terminal.out << json.dump(2, ' ', false,
                              nlohmann::json::error_handler_t::replace)
                 << "\n";
    return Done{};
  }
  terminal.out << fmt::format("{}: {} records, {}; index: {}, {}\n",
                              database->path(), index.size(), kept(index), file,
                              format_bytes(double(*bytes)));
  return Done{};
}

Status run_lmdb_verify(const LmdbArguments& arguments, Terminal& terminal) {
  const InterruptAsRequest request;
  RecordProgress progress("verify");
  auto verified = lmdb::verify(arguments.database, std::ref(progress));
  if (!verified) return std::move(verified).error();
  terminal.out << fmt::format(
      "{}: {} records, {}, as liblmdb reads them; index: {}\n",
      arguments.database, verified->records,
      format_bytes(double(verified->value_bytes)),
      verified->has_index ? "the same"
      : verified->index_refusal.empty()
          ? "none"
          : "not used, " + verified->index_refusal);
  return Done{};
}

Status run_lmdb_import(const LmdbArguments& arguments, Terminal& terminal) {
  const InterruptAsRequest request;
  RecordProgress progress("import");
  auto source = open_source(arguments.sources);
  if (!source) return std::move(source).error();
  auto imported =
      lmdb::import_samples(**source, arguments.database, std::ref(progress));
  if (!imported) return std::move(imported).error();
  terminal.out << fmt::format("{}: {} records, {}, {}; index: {}\n",
                              imported->data_file, imported->records,
                              format_bytes(double(imported->value_bytes)),
                              labelled(imported->labels, imported->records),
                              format_bytes(double(imported->index_bytes)));
  return Done{};
}

}  // namespace penstock
