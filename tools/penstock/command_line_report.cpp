// penstock report: one job, or many.
#include "tools/penstock/command_options.h"
#include "tools/penstock/since.h"

namespace penstock {
namespace {

constexpr const char* kForms = "JOBID, --user, --array, --cluster";

// The requested forms of the report. --since alone means the caller's own jobs,
// like --user.
struct Forms {
  bool job, user, array, cluster;

  int count() const { return job + user + array + cluster; }
};

Forms forms_of(const CLI::App& command) {
  Forms forms{command.count("JOBID") > 0, command.count("--user") > 0,
              command.count("--array") > 0, command.count("--cluster") > 0};
  if (forms.count() == 0) forms.user = command.count("--since") > 0;
  return forms;
}

// Refuses options of one kind of report that were given with the other.
Status check_options(const CLI::App& command, bool is_of_many,
                     const std::string& since) {
  const std::vector<const char*> not_of_many = {"--follow", "--html", "--dir",
                                                "--socket"};
  const std::vector<const char*> not_of_one = {"--since", "--csv",
                                               "--controller"};
  for (const char* option : is_of_many ? not_of_many : not_of_one) {
    if (command.count(option) == 0) continue;
    return invalid(
        std::string("report: ") + option +
        (is_of_many ? ": goes with JOBID only" : ": does not go with JOBID"));
  }
  // An empty value, as from an unset variable, must not mean the whole history.
  if (command.count("--since") > 0 && since.empty()) {
    return parse_since(since, 0).error();
  }
  if (command.count("--csv") > 0 && command.count("--json") > 0) {
    return invalid("report: --csv and --json: choose one");
  }
  return Done{};
}

}  // namespace

void add_many_reports(CLI::App* command, CommandLine& line) {
  ReportJobsArguments& it = line.report_jobs;
  command
      ->add_option("--user", it.user,
                   "many jobs in one table: those of that user (others' are "
                   "for root only) [yours]")
      ->expected(0, 1);
  command
      ->add_option("--array", it.array_job_id,
                   "many jobs in one table: the tasks of that array")
      ->check(CLI::Range(uint32_t{1}, UINT32_MAX));
  command->add_flag("--cluster", it.cluster,
                    "all jobs together, nobody's apart (root only)");
  command->add_option("--since", it.since,
                      "of many: seen in the last 12h, 7d, 2w, or since a date "
                      "as 2026-11-01 (UTC) [all]");
  command->add_flag("--csv", it.csv, "of many: print CSV");
  command->add_option("--controller", it.controller,
                      "of many: HOST:PORT of penstockctld [Controller]");
}

Status run_report_line(const CommandLine& line, const Config& config,
                       Terminal& terminal) {
  const CLI::App& command = *line.app.get_subcommand("report");
  const Forms forms = forms_of(command);
  if (forms.count() != 1) {
    return invalid(std::string("report: ") +
                   (forms.count() == 0
                        ? "what is to be reported? One of "
                        : "these do not go together, choose one: ") +
                   kForms);
  }
  Status fits = check_options(command, !forms.job, line.report_jobs.since);
  if (!fits) return fits;
  if (forms.job) return run_report(line.report, config, terminal);
  ReportJobsArguments arguments = line.report_jobs;
  arguments.json = line.report.json;
  return forms.cluster ? run_report_cluster(arguments, config, terminal)
                       : run_report_jobs(arguments, config, terminal);
}

}  // namespace penstock
