// `penstock analyze`: starts the command, measures its ranks cell by cell, and
// prints the findings.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ostream>

#include "common/clock.h"
#include "common/cpu_affinity.h"
#include "common/options.h"
#include "common/units.h"
#include "tools/analyze/command_process.h"
#include "tools/analyze/render.h"
#include "tools/analyze/session.h"
#include "tools/penstock/command_options.h"
#include "tools/penstock/commands.h"
#include "tools/penstock/progress_line.h"
#include "tools/penstock/python_hook.h"
#include "tools/penstock/replace_file.h"

namespace penstock {
namespace {

// Duration of one visit, and limit of a rank's answer.
constexpr double kMeasure_s = 1.2;
constexpr double kAnswer_s = 120;
constexpr double kEnding_s = 10;  // limit of a command's orderly end
constexpr double kInterrupted_s = 1;
constexpr size_t kMostNameBytes = 64;  // limit of a profile's name

struct AnalyzeArguments {
  double budget_s = 120;        // limit of the measurements
  double start_s = 120;         // limit until the first data request
  std::vector<double> amounts;  // of cores; empty: defaults
  bool local = false;           // without Slurm
  bool json = false;
  std::string save_file;  // file for the profile; "": none
  std::vector<std::string> srun_options;
  std::vector<std::string> command;
};

double now_s() { return double(monotonic_ns()) * 1e-9; }

std::string base_name(const std::string& path) {
  return printable(path.substr(path.rfind('/') + 1), kMostNameBytes);
}

std::vector<std::string> command_line(const AnalyzeArguments& arguments) {
  std::vector<std::string> line;
  if (!arguments.local) {
    line = {"srun", "--job-name=analyze"};
    line.insert(line.end(), arguments.srun_options.begin(),
                arguments.srun_options.end());
  }
  line.insert(line.end(), arguments.command.begin(), arguments.command.end());
  return line;
}

// Variables instead of options, because an srun without the plugin ignores
// them.
std::vector<std::string> variables(const AnalyzeArguments& arguments,
                                   const AnalysisAddress& address) {
  std::vector<std::string> out = {
      std::string(kAnalysisVariable) + "=" + to_text(address),
      option_spec(kOptionMode).variable + std::string("=auto"),
      option_spec(kOptionReport).variable + std::string("=none")};
  // Programs that call watch() or load with Penstock need no hook.
  if (const auto path = python_path_with_hook()) {
    out.push_back(std::string(kPythonPath) + "=" + *path);
  }
  // Hide the variables of a surrounding batch script from the command.
  if (arguments.local) {
    out.insert(out.end(), {"SLURM_NTASKS=1", "SLURM_PROCID=0"});
  }
  return out;
}

Result<CommandProcess> start(const AnalyzeArguments& arguments,
                             const AnalysisAddress& address) {
  auto process = CommandProcess::start(command_line(arguments),
                                       variables(arguments, address));
  if (process || arguments.local) return process;
  if (process.error().code == Code::kNotFound) {
    process.error().message +=
        "; penstock analyze --local runs the command without Slurm";
  }
  return process;
}

Status check_ending(CommandProcess& process) {
  process.read_output();
  if (InterruptAsRequest::is_requested()) {
    return Error{Code::kUnavailable, 0, "interrupted"};
  }
  if (!process.has_ended()) return Done{};
  std::string text = "the command ended with " + process.how_it_ended() +
                     " before enough was measured";
  if (process.how_it_ended() == "exit code 0") {
    text +=
        ": it has to train on batches of a PyTorch DataLoader, of "
        "penstock.watch(loader) or of Penstock's loader for longer than that; "
        "give it more epochs";
  }
  return Error{Code::kNotFound, 0, text + process.last_lines()};
}

Status check_hellos(const std::vector<AnalysisHello>& hellos) {
  const AnalysisHello& first = hellos[0];
  if (first.batch_samples && first.dataset_samples &&
      *first.dataset_samples < *first.batch_samples) {
    return Error{Code::kNotFound, 0,
                 "the data set has " + std::to_string(*first.dataset_samples) +
                     " samples, less than the " +
                     std::to_string(*first.batch_samples) +
                     " of a batch: use a smaller batch or more data"};
  }
  return Done{};
}

// CPUs of this process, which the command inherits.
double own_cpus() {
  return std::max(1.0, double(cpu_affinity(0).value_or(CpuSet()).size()));
}

PlanFacts facts_of(const std::vector<AnalysisHello>& hellos,
                   const AnalyzeArguments& arguments) {
  const AnalysisHello& first = hellos[0];
  PlanFacts facts;
  facts.cpus =
      arguments.local ? cpus_of_local_rank(hellos, own_cpus()) : first.cpus;
  facts.can_memory = first.can_memory;
  facts.can_cold = !first.cold.empty();
  facts.batch_samples = std::max<uint64_t>(1, first.batch_samples.value_or(1));
  facts.amounts = arguments.amounts;
  return facts;
}

class Progress {
 public:
  explicit Progress(double budget_s)
      : is_terminal_(::isatty(STDERR_FILENO) == 1), budget_s_(budget_s) {}
  ~Progress() { clear(); }

  void show(const AnalysisPlan& plan, const CellKind& kind, double spent_s) {
    if (!is_terminal_ && plan.rounds() == shown_round_) return;
    shown_round_ = plan.rounds();
    std::fprintf(stderr, "%sround %zu, %.0f of %.0f s: %s%s",
                 is_terminal_ ? "\r\033[K" : "penstock: ", plan.rounds(),
                 spent_s, budget_s_, cell_text(kind).c_str(),
                 is_terminal_ ? "" : "\n");
    std::fflush(stderr);
  }
  void say(const char* what) {
    std::fprintf(stderr, "%s%s%s",
                 is_terminal_ ? "\r\033[K" : "penstock: ", what,
                 is_terminal_ ? "" : "\n");
    std::fflush(stderr);
  }
  void clear() {
    if (is_terminal_) std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
  }

 private:
  const bool is_terminal_;
  const double budget_s_;
  size_t shown_round_ = 0;
};

// Measures until every figure is narrow or the time is up.
Status measure(Session& session, const AnalyzeArguments& arguments,
               AnalysisPlan& plan, AnalysisEnding& ending, Progress& progress) {
  const double began_s = now_s();
  uint32_t number = 0;
  ending.narrow = true;
  while (const auto kind = plan.next()) {
    ending.seconds = now_s() - began_s;
    if (ending.seconds >= arguments.budget_s) {
      ending.narrow = false;
      break;
    }
    progress.show(plan, plan.kinds()[*kind], ending.seconds);
    AnalysisCell cell = plan.kinds()[*kind].cell;
    cell.cell = ++number;
    // Half of the remaining time at most, so that other cells get their turn.
    const double left_s = arguments.budget_s - ending.seconds;
    auto visit = session.run(cell, kMeasure_s,
                             std::clamp(left_s / 2, kMeasure_s + 1, kAnswer_s));
    if (!visit && visit.error().code != Code::kLimit) {
      return std::move(visit).error();
    }
    if (visit) {
      plan.add(*kind, *std::move(visit));
    } else if (plan.kinds()[*kind].visits.empty()) {
      plan.drop(*kind, visit.error().message);
    }
  }
  ending.seconds = now_s() - began_s;
  ending.aim = plan.facts().narrow;
  ending.widest = plan.widest();
  return Done{};
}

// Stops waiting at the next signal; earlier signals do not count.
void await_end(CommandProcess& process, double timeout_s) {
  const double until_s = now_s() + timeout_s;
  const int before = InterruptAsRequest::requests();
  while (!process.has_ended() && InterruptAsRequest::requests() == before &&
         now_s() < until_s) {
    process.read_output();
    ::usleep(20'000);
  }
}

// End the ranks first, because a job may write a checkpoint on SIGTERM.
void end_ranks(Session& session, CommandProcess& process) {
  session.end();
  await_end(process,
            InterruptAsRequest::is_requested() ? kInterrupted_s : kEnding_s);
}

// A lost rank may be the first sign of the command's end, whose status explains
// more.
Error explained(Error error, Session& session, CommandProcess& process) {
  await_end(process, 2);
  Status ending = check_ending(process);
  error.message += process.last_lines();
  if (!ending) error = std::move(ending).error();
  if (!process.has_ended()) end_ranks(session, process);
  return error;
}

// Errors: kNotFound  the command failed, ended early, or never asked for data;
//         kUnavailable  interrupted, or a rank does not answer
Status run_analyze(const AnalyzeArguments& arguments, Terminal& terminal) {
  const InterruptAsRequest request;  // Ctrl-C ends the command first
  std::optional<CommandProcess> process;
  const CommandWatch watch{
      [&process] { return process ? process->fds() : std::vector<int>(); },
      [&process] { return process ? check_ending(*process) : Done{}; }};
  auto session = Session::listen(arguments.local, watch);
  if (!session) return std::move(session).error();
  auto started = start(arguments, (*session)->address());
  if (!started) return std::move(started).error();
  process.emplace(*std::move(started));

  Progress progress(arguments.budget_s);
  progress.say("waiting for the command to ask for data");
  Status done = (*session)->wait_for_ranks(arguments.start_s);
  if (done) done = check_hellos((*session)->hellos());
  if (!done) return explained(std::move(done).error(), **session, *process);
  AnalysisPlan plan(facts_of((*session)->hellos(), arguments));
  AnalysisEnding ending;
  done = measure(**session, arguments, plan, ending, progress);
  if (!done) return explained(std::move(done).error(), **session, *process);
  end_ranks(**session, *process);
  progress.clear();
  if ((*session)->hellos()[0].source == "penstock-train") {
    ending.emulated = "the accelerator is emulated";
  }
  auto findings = make_findings(base_name(arguments.command[0]),
                                (*session)->hellos(), plan);
  if (!findings) return std::move(findings).error();
  terminal.out << (arguments.json
                       ? to_json(*findings, ending)
                       : render_text(*findings, ending, terminal.style));
  if (arguments.save_file.empty()) return Done{};
  Status saved =
      replace_file(arguments.save_file, profile_text(findings->profile));
  if (saved && !arguments.json) {
    terminal.out << "Saved in " << arguments.save_file << ": srun "
                 << option_flag(kOptionModel) << "=" << arguments.save_file
                 << ", penstock what-if " << arguments.save_file << "\n";
  }
  return saved;
}

// Replaces "3m", "90s", "90" or "1h" by seconds.
std::string check_duration(std::string& text) {
  double factor = 1;
  std::string number = text;
  if (!number.empty()) {
    const std::string units = "smh";
    const size_t unit = units.find(number.back());
    if (unit != std::string::npos) {
      number.pop_back();
      factor = unit == 0 ? 1 : unit == 1 ? 60 : 3600;
    }
  }
  const auto value = parse_number(number, 0, 1e6);
  if (!value || *value * factor < 1 || *value * factor > 86400) {
    return penstock::quoted(text) +
           " is not valid; allowed: 1s to 24h, such as 90s or 3m";
  }
  text = format_number(*value * factor);
  return "";
}

// Errors: kInvalidArgument  contradictory options
Status check_command(const AnalyzeArguments& arguments) {
  if (arguments.command.empty()) {
    return invalid(
        "analyze: a command is missing: penstock analyze -- COMMAND");
  }
  if (arguments.local && !arguments.srun_options.empty()) {
    return invalid("analyze: " + penstock::quoted(arguments.srun_options[0]) +
                   ": --local runs the command without srun; leave one of "
                   "them out");
  }
  return Done{};
}

}  // namespace

Run add_analyze(CLI::App* command) {
  auto it = std::make_shared<AnalyzeArguments>();
  command->footer(
      "Usage: penstock analyze [OPTIONS] [SRUN-OPTIONS] -- COMMAND...");
  command
      ->add_option("--budget", it->budget_s,
                   "limit of the measurement's duration [2m]")
      ->transform(CLI::Validator(check_duration, "TIME"));
  command
      ->add_option(
          "--start", it->start_s,
          "limit of the wait for the command's first request of data [2m]")
      ->transform(CLI::Validator(check_duration, "TIME"));
  command
      ->add_option(
          "--cores", it->amounts,
          "measure preparation with these numbers of cores, such as 0.5,1,2")
      ->delimiter(',')
      ->check(CLI::Range(0.1, 4096.0));
  command->add_option(
      "--save", it->save_file,
      "write a profile for " + option_flag(kOptionModel) + " and what-if");
  command->add_flag("--local", it->local, "run COMMAND without Slurm");
  command->add_flag("--json", it->json, "print JSON");
  // Unknown options are srun's.
  command->allow_extras();
  return [command, it](Invocation& invocation) -> Status {
    it->srun_options = command->remaining();
    it->command = invocation.command;
    std::sort(it->amounts.begin(), it->amounts.end());
    Status fits = check_command(*it);
    return fits ? run_analyze(*it, invocation.terminal) : fits;
  };
}

}  // namespace penstock
