// `penstock lmdb`: indexes, checks and makes LMDB databases.

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <system_error>

#include "common/clock.h"
#include "common/units.h"
#include "loader/data/rule_options.h"
#include "loader/lmdb/import.h"
#include "loader/lmdb/lmdb_database.h"
#include "loader/lmdb/sidecar_file.h"
#include "loader/lmdb/verify.h"
#include "penstock/loader/dataset.h"
#include "tools/penstock/bench_command.h"
#include "tools/penstock/command_options.h"
#include "tools/penstock/commands.h"
#include "tools/penstock/json_text.h"
#include "tools/penstock/progress_line.h"

namespace penstock {
namespace {

struct LmdbArguments {
  std::string database;
  std::vector<std::string> sources;  // of import
  SampleRules rules;                 // of import
  bool json = false;                 // of index
  int rounds = 11;                   // of bench: pairs of runs per cell
  std::string figures_file;          // of bench; "": none
};

// Storage of an index's records, for display.
std::string kept(const lmdb::RecordIndex& index) {
  if (index.list().size() == 0) return "all computed";
  if (index.computed() == 0) return "all listed";
  return fmt::format("{} computed, {} listed", index.computed(),
                     index.list().size());
}

// Share of labelled records, for display.
std::string labelled(uint64_t labels, uint64_t records) {
  if (labels == 0) return "no labels";
  if (labels == records) return "all labelled";
  return fmt::format("{} labelled", labels);
}

Result<std::shared_ptr<const Dataset>> open_source(
    const std::vector<std::string>& paths, const SampleRules& rules) {
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
  return open_dataset(paths, std::nullopt, rules);
}

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
    terminal.out << json_text(json);
    return Done{};
  }
  terminal.out << fmt::format("{}: {} records, {}; index: {}, {}\n",
                              database->path(), index.size(), kept(index), file,
                              format_bytes(double(*bytes)));
  return Done{};
}

Status run_lmdb_verify(const LmdbArguments& arguments, Terminal& terminal) {
  const InterruptAsRequest request;
  ProgressLine progress("verify", "records");
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

// Ctrl-C ends it and leaves no database behind.
Status run_lmdb_import(const LmdbArguments& arguments, Terminal& terminal) {
  const InterruptAsRequest request;
  ProgressLine progress("import", "records");
  auto source = open_source(arguments.sources, arguments.rules);
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

Status run_lmdb_bench(const LmdbArguments& arguments) {
  std::vector<std::string> words{"lmdb", "--database", arguments.database,
                                 "--rounds", std::to_string(arguments.rounds)};
  if (!arguments.figures_file.empty()) {
    words.insert(words.end(), {"--json", arguments.figures_file});
  }
  return exec_bench(words);
}

void add_database(CLI::App* command, LmdbArguments& it) {
  command
      ->add_option("DB", it.database,
                   "directory with data.mdb, or a data file of MDB_NOSUBDIR")
      ->required()
      ->check(has_text);
}

void add_index(CLI::App& lmdb, LmdbArguments& it) {
  CLI::App* index = lmdb.add_subcommand(
      "index",
      "Write an index of the records, so that jobs need not search for them");
  add_database(index, it);
  index->add_flag("--json", it.json, "print JSON");
}

void add_bench(CLI::App& lmdb, LmdbArguments& it) {
  CLI::App* bench = lmdb.add_subcommand(
      "bench", "Measure the MPI reader and liblmdb on a database");
  add_database(bench, it);
  bench->add_option("--rounds", it.rounds, "pairs of runs of each cell")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  bench
      ->add_option("--json", it.figures_file,
                   "also write the figures to this file")
      ->check(has_text);
}

void add_import(CLI::App& lmdb, LmdbArguments& it) {
  CLI::App* import =
      lmdb.add_subcommand("import", "Create a database of pictures");
  import->positionals_at_end();
  import
      ->add_option(
          "SOURCE", it.sources,
          "a folder of pictures, or tar shards; each picture becomes a "
          "record")
      ->required()
      ->check(has_text);
  add_rule_options(*import, it.rules);
  import->add_option("DB", it.database, "directory to create")
      ->required()
      ->check(has_text);
}

Status run_chosen(const CLI::App& lmdb, const LmdbArguments& it,
                  Terminal& terminal) {
  if (lmdb.got_subcommand("index")) return run_lmdb_index(it, terminal);
  if (lmdb.got_subcommand("verify")) return run_lmdb_verify(it, terminal);
  if (lmdb.got_subcommand("bench")) return run_lmdb_bench(it);
  return run_lmdb_import(it, terminal);
}

}  // namespace

Run add_lmdb(CLI::App* lmdb) {
  auto it = std::make_shared<LmdbArguments>();
  lmdb->require_subcommand(1);
  add_index(*lmdb, *it);
  add_database(
      lmdb->add_subcommand("verify", "Compare each record with liblmdb's"),
      *it);
  add_bench(*lmdb, *it);
  add_import(*lmdb, *it);
  return [lmdb, it](Invocation& invocation) {
    return run_chosen(*lmdb, *it, invocation.terminal);
  };
}

}  // namespace penstock
