#include "bench/bench_line.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/allocator/bench_allocator.h"
#include "bench/ctld/bench_ctld.h"
#include "bench/script.h"
#include "bench/submit/bench_submit.h"

namespace penstock {
namespace {

struct BenchLine {
  std::string name;
  std::string json_file;  // "": none
  std::optional<int> rounds;
  std::vector<std::string> cases;  // of advice; empty: all
  // Of analyze:
  std::vector<std::string> jobs = {"transformer", "res50",   "mobilenet",
                                   "alexnet",     "records", "pytorch"};
  int budget_s = 120;  // of each analysis
  // Of exchange:
  std::vector<std::string> parts = {"selection", "1g", "10g", "memory"};
  std::string costs_dir;              // "": exchange-costs
  std::string database;               // of lmdb; "": generated databases
  std::string peers_dir;              // of loader; "": only Debian's loaders
  std::vector<std::string> programs;  // of unmodified
  BenchCtldArguments ctld;
  int submissions = 1000;
};

void add_name(CLI::App* command, BenchLine& it) {
  command
      ->add_option(
          "NAME", it.name,
          "advice: jobs that do what their reports advise; allocator: time and "
          "loss of solves and rounding; analyze: what-if against real runs; "
          "cache: the sample cache and the page cache; "
          "ctld: the controller under a storm of jobs; exchange: methods to "
          "exchange gradients over MPI; lmdb: the LMDB reader over MPI and "
          "stock LMDB; loader: the loader and other loaders; memory: training "
          "with less memory; observe: what Mode=observe says that lending "
          "would "
          "gain, against what it gains; staging: jobs that prepare batches "
          "together; "
          "submit: costs of the job submit plugin; unmodified: training "
          "programs that know nothing of Penstock")
      ->required()
      ->check(CLI::IsMember({"advice", "allocator", "analyze", "cache", "ctld",
                             "exchange", "lmdb", "loader", "memory", "observe",
                             "staging", "submit", "unmodified"}));
}

void add_script_options(CLI::App* command, BenchLine& it) {
  command->add_option("--case", it.cases, "advice: a job to run [all]")
      ->expected(1)
      ->take_all();
  command->add_option("--jobs", it.jobs, "analyze: kinds of jobs")
      ->delimiter(',')
      ->check(CLI::IsMember(it.jobs))
      ->capture_default_str();
  command
      ->add_option(
          "--rounds", it.rounds,
          "advice: of each job [1]; analyze: of real runs [3]; cache: epochs "
          "of each figure [5]; "
          "exchange: of all ways [11]; lmdb: pairs of runs [11]; "
          "loader: of all loaders [7]; memory: of all ways to train [5]; "
          "observe: of each set [3]; staging: of all jobs [5]; unmodified: of "
          "all programs [5]")
      ->check(CLI::Range(1, 100));
  command
      ->add_option("--budget", it.budget_s, "analyze: seconds of each analysis")
      ->check(CLI::Range(10, 3600))
      ->capture_default_str();
  command
      ->add_option("--peers", it.peers_dir,
                   "loader: directory made by tests/peers")
      ->check(CLI::ExistingDirectory);
  command
      ->add_option("--program", it.programs,
                   "unmodified: NAME=COMMAND of a training program to run to "
                   "its end; {data} in it is a folder of pictures")
      ->expected(1)
      ->take_all();
  command->add_option("--parts", it.parts, "exchange: parts to measure")
      ->delimiter(',')
      ->check(CLI::IsMember(it.parts))
      ->capture_default_str();
  command
      ->add_option(
          "--calibrate", it.costs_dir,
          "exchange: only fit the cost model, and write the costs of messages, "
          "bytes, sums and selections to this directory [exchange-costs]")
      ->expected(0, 1);
}

void add_ctld_options(CLI::App* command, BenchCtldArguments& it) {
  command->add_option("--agents", it.agents, "ctld: number of simulated nodes")
      ->check(CLI::Range(2, 10000))
      ->capture_default_str();
  command->add_option("--rate", it.jobs_per_s, "ctld: job starts per second")
      ->check(CLI::Range(0.1, 10000.0))
      ->capture_default_str();
  command->add_option("--seconds", it.seconds, "ctld: duration, seconds")
      ->check(CLI::Range(1.0, 3600.0))
      ->capture_default_str();
  command->add_option("--config", it.config_file,
                      "ctld: penstock.conf of a running controller");
  command->add_option("--sample", it.sampled,
                      "ctld: socket of a penstockd of that controller");
  command
      ->add_option("--kills", it.kills,
                   "ctld: number of times to kill and restart the controller")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
}

// A hidden option, before all others: after the last group of the help CLI11
// would add an empty line.
void add_database(CLI::App* command, BenchLine& it) {
  command->set_help_flag();
  command->add_option("--database", it.database)->group("");
  command->set_help_flag("-h,--help", "Print this help message and exit");
}

void add_all(CLI::App* command, BenchLine& it) {
  add_database(command, it);
  add_name(command, it);
  add_script_options(command, it);
  add_ctld_options(command, it.ctld);
  command
      ->add_option("--count", it.submissions,
                   "submit: submissions to each of the two Slurm clusters")
      ->check(CLI::Range(30, 100000))
      ->capture_default_str();
  command->add_option("--json", it.json_file,
                      "also write the figures to this file");
}

int usual_rounds(const std::string& name) {
  if (name == "advice") return 1;
  if (name == "exchange" || name == "lmdb") return 11;
  if (name == "loader") return 7;
  return name == "analyze" || name == "observe" ? 3 : 5;
}

// The words of a benchmark that is a script.
std::vector<std::string> script_words(const CLI::App& command,
                                      const BenchLine& it) {
  std::vector<std::string> out{
      "--rounds", std::to_string(it.rounds.value_or(usual_rounds(it.name)))};
  const auto add = [&out](const char* option, const std::string& value) {
    out.insert(out.end(), {option, value});
  };
  if (it.name == "advice") {
    for (const std::string& one : it.cases) add("--case", one);
  } else if (it.name == "analyze") {
    add("--jobs", fmt::format("{}", fmt::join(it.jobs, ",")));
    add("--budget", std::to_string(it.budget_s));
  } else if (it.name == "exchange") {
    add("--parts", fmt::format("{}", fmt::join(it.parts, ",")));
    if (command.count("--calibrate") > 0) {
      add("--calibrate",
          it.costs_dir.empty() ? "exchange-costs" : it.costs_dir);
    }
  } else if (it.name == "lmdb" && !it.database.empty()) {
    add("--database", it.database);
  } else if (it.name == "loader" && !it.peers_dir.empty()) {
    add("--peers", it.peers_dir);
  } else if (it.name == "unmodified") {
    for (const std::string& program : it.programs) add("--program", program);
  }
  return out;
}

Status run_chosen(const CLI::App& command, const BenchLine& it,
                  Terminal& terminal) {
  if (it.name == "allocator") {
    return run_bench_allocator(it.json_file, terminal);
  }
  if (it.name == "ctld") return run_bench_ctld(it.ctld, it.json_file, terminal);
  if (it.name == "submit") {
    return run_bench_submit(it.submissions, it.json_file, terminal);
  }
  return run_bench_script({it.name, script_words(command, it)}, it.json_file,
                          terminal);
}

Run add_bench(CLI::App* command) {
  auto it = std::make_shared<BenchLine>();
  add_all(command, *it);
  return [command, it](Invocation& invocation) {
    return run_chosen(*command, *it, invocation.terminal);
  };
}

}  // namespace

int run_bench_line(int argc, const char* const* argv, Terminal& terminal,
                   std::ostream& errors) {
  Invocation invocation{terminal, errors, {}};
  return run_app(
      {"penstock bench", "Run a benchmark of Penstock itself", add_bench}, argc,
      argv, invocation);
}

}  // namespace penstock
