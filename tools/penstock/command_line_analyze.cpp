#include <algorithm>

#include "common/options.h"
#include "common/units.h"
#include "tools/penstock/command_options.h"

namespace penstock {
namespace {

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

}  // namespace

void add_analyze(CommandLine& line) {
  AnalyzeArguments& it = line.analyze;
  CLI::App* command = line.app.add_subcommand(
      "analyze", "Measure where a training command's time goes");
  command->footer(
      "Usage: penstock analyze [OPTIONS] [SRUN-OPTIONS] -- COMMAND...");
  command
      ->add_option("--budget", it.budget_s,
                   "measure for no longer than this [2m]")
      ->transform(CLI::Validator(check_duration, "TIME"));
  command
      ->add_option("--start", it.start_s,
                   "wait so long for the command to ask for data [2m]")
      ->transform(CLI::Validator(check_duration, "TIME"));
  command
      ->add_option("--cores", it.amounts,
                   "measure prep on these amounts of cores, such as 0.5,1,2")
      ->delimiter(',')
      ->check(CLI::Range(0.1, 4096.0));
  command->add_option(
      "--save", it.save_file,
      "write a profile for " + option_flag(kOptionModel) + " and what-if");
  command->add_flag("--local", it.local, "run COMMAND without Slurm");
  command->add_flag("--json", it.json, "print JSON");
  // Unknown options are srun's.
  command->allow_extras();
}

Status finish_analyze(const CommandLine& line, AnalyzeArguments& arguments) {
  arguments.srun_options = line.app.get_subcommand("analyze")->remaining();
  if (arguments.command.empty()) {
    return invalid(
        "analyze: a command is missing: penstock analyze -- COMMAND");
  }
  if (arguments.local && !arguments.srun_options.empty()) {
    return invalid("analyze: " + penstock::quoted(arguments.srun_options[0]) +
                   ": --local runs the command without srun; leave one of "
                   "them out");
  }
  std::sort(arguments.amounts.begin(), arguments.amounts.end());
  return Done{};
}

}  // namespace penstock
