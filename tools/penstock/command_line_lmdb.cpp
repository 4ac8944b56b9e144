// penstock lmdb: a command with subcommands.
#include "tools/penstock/bench_command.h"
#include "tools/penstock/command_options.h"

namespace penstock {
namespace {

void add_database(CLI::App* command, LmdbArguments& it) {
  command
      ->add_option("DB", it.database,
                   "a folder with data.mdb, or a data file of MDB_NOSUBDIR")
      ->required()
      ->check(has_text);
}

void add_lmdb_bench(CommandLine& line, CLI::App& lmdb) {
  CLI::App* bench = lmdb.add_subcommand(
      "bench", "Measure the reader over MPI beside liblmdb on a database");
  bench
      ->add_option("DB", line.lmdb.database,
                   "a folder with data.mdb, or a data file of MDB_NOSUBDIR")
      ->required()
      ->check(has_text);
  bench->add_option("--rounds", line.lmdb.rounds, "pairs of runs of each cell")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  bench
      ->add_option("--json", line.lmdb.figures_file,
                   "also write the figures here")
      ->check(has_text);
}

}  // namespace

void add_lmdb(CommandLine& line) {
  LmdbArguments& it = line.lmdb;
  CLI::App* lmdb =
      line.app.add_subcommand("lmdb", "Index, check and make LMDB databases");
  lmdb->require_subcommand(1);
  CLI::App* index = lmdb->add_subcommand(
      "index", "Write down where records are, so that no job has to look");
  add_database(index, it);
  index->add_flag("--json", it.json, "print JSON");
  CLI::App* verify = lmdb->add_subcommand(
      "verify", "Compare each record with what liblmdb reads");
  add_database(verify, it);
  add_lmdb_bench(line, *lmdb);
  CLI::App* import =
      lmdb->add_subcommand("import", "Make a database of pictures");
  import->positionals_at_end();
  import
      ->add_option(
          "SOURCE", it.sources,
          "a folder of pictures, or tar shards; each picture becomes a "
          "record")
      ->required()
      ->check(has_text);
  import->add_option("DB", it.database, "the folder to make")
      ->required()
      ->check(has_text);
}

Status run_lmdb_line(const CommandLine& line, Terminal& terminal) {
  const CLI::App& lmdb = *line.app.get_subcommand("lmdb");
  if (lmdb.got_subcommand("index")) return run_lmdb_index(line.lmdb, terminal);
  if (lmdb.got_subcommand("verify")) {
    return run_lmdb_verify(line.lmdb, terminal);
  }
  if (lmdb.got_subcommand("bench")) {
    std::vector<std::string> words{"lmdb", "--database", line.lmdb.database,
                                   "--rounds",
                                   std::to_string(line.lmdb.rounds)};
    const std::string& file = line.lmdb.figures_file;
    if (!file.empty()) words.insert(words.end(), {"--json", file});
    return exec_bench(words);
  }
  return run_lmdb_import(line.lmdb, terminal);
}

}  // namespace penstock
