#include "bench/lmdb/bench_options.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>

namespace penstock::lmdb {
namespace {

const char* const kDescription =
    "Reads an LMDB database once or more over the ranks of an MPI program and "
    "checksums every byte; prints a line of JSON per rank.";

struct Switches {
  std::string text = "lmm,dm,dio,prov,coal";
  std::string direct = "auto";
  bool copies = false;
};

void add_options(CLI::App& app, BenchOptions& options, Switches& switches) {
  ReaderOptions& reader = options.reader;
  app.add_option("database", options.path, "Folder or data file")->required();
  app.add_flag("--cold", options.is_cold,
               "Drop the file from the page cache before");
  app.add_option("--switches", switches.text,
                 "Optimisations, separated by commas: lmm, dm, dio, prov, "
                 "coal, stag; none: liblmdb on every rank")
      ->option_text("LIST [lmm,dm,dio,prov,coal]");
  app.add_option("--direct", switches.direct, "Reads past the page cache")
      ->check(CLI::IsMember({"auto", "off", "on"}))
      ->option_text("auto|off|on");
  app.add_option("--stock-limit", options.stock_limit_s,
                 "Seconds after which a run of liblmdb ends, however far it "
                 "has come; 0: none")
      ->check(CLI::Range(0.0, 86400.0))
      ->option_text("S [0]");
  app.add_flag("--copies", switches.copies,
               "No pointers into the mapped file, also where it is cached");
  app.add_flag("--shuffle", reader.shuffle, "Shuffled epochs");
  app.add_option("--seed", reader.seed, "Of the shuffling")
      ->option_text("N [0]");
  app.add_option("--epochs", reader.epochs, "How often")
      ->check(CLI::Range(1, 1000000))
      ->option_text("N [1]");
  app.add_option("--batch", reader.batch_records, "Records of a rank and step")
      ->option_text("N [32]");
  app.add_option("--buffer-bytes", reader.buffer_bytes,
                 "Of a node; 0: from the available memory")
      ->option_text("BYTES [0]");
  app.add_option("--readers", reader.readers_per_node, "Reader ranks per node")
      ->option_text("N [1]");
  app.add_option("--stagger", reader.stagger_width, "Nodes that read at once")
      ->option_text("N [1]");
  app.add_option("--ranks-per-buffer", reader.ranks_per_buffer,
                 "Parts of a node stand for nodes; 0: one part")
      ->option_text("N [0]");
  app.add_option("--peer-timeout-ms", reader.peer_timeout_ms,
                 "How long ranks wait for each other")
      ->option_text("MS [600000]");
}

Status apply(const Switches& switches, BenchOptions& options) {
  ReaderOptions& reader = options.reader;
  options.is_stock = switches.text == "none";
  const std::map<std::string, bool*> all{
      {"lmm", &reader.lmm},   {"dm", &reader.dm},     {"dio", &reader.dio},
      {"prov", &reader.prov}, {"coal", &reader.coal}, {"stag", &reader.stag}};
  for (const auto& [name, value] : all) *value = false;
  const std::string list = options.is_stock ? "" : switches.text;
  for (const std::string& name : CLI::detail::split(list, ',')) {
    const auto found = all.find(name);
    if (found != all.end()) {
      *found->second = true;
    } else if (!name.empty()) {
      return invalid("--switches: \"" + name +
                     "\" is none of lmm, dm, dio, prov, coal, stag");
    }
  }
  reader.map_cached = reader.dm && !switches.copies;
  reader.direct = switches.direct == "on"    ? DirectReads::kOn
                  : switches.direct == "off" ? DirectReads::kOff
                                             : DirectReads::kAuto;
  return Done{};
}

}  // namespace

Result<std::optional<BenchOptions>> parse_bench_options(
    int argc, const char* const* argv) {
  CLI::App app{kDescription};
  BenchOptions options;
  Switches switches;
  add_options(app, options, switches);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return std::optional<BenchOptions>();
  } catch (const CLI::ParseError& error) {
    return invalid(error.what());
  }
  if (Status ok = apply(switches, options); !ok) return std::move(ok).error();
  return std::optional<BenchOptions>(std::move(options));
}

}  // namespace penstock::lmdb
