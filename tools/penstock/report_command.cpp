// `penstock report`: one job, or many.
#include "tools/penstock/command_options.h"
#include "tools/penstock/commands.h"
#include "tools/penstock/report_job.h"
#include "tools/penstock/report_jobs.h"
#include "tools/penstock/since.h"

namespace penstock {
namespace {

struct ReportOptions {
  ReportArguments one;
  ReportJobsArguments many;
  Site site;
};

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
  const std::vector<const char*> not_of_many = {"--follow", "--summary",
                                                "--dir", "--socket"};
  const std::vector<const char*> not_of_one = {"--since", "--controller"};
  for (const char* option : is_of_many ? not_of_many : not_of_one) {
    if (command.count(option) == 0) continue;
    return invalid(std::string("report: ") + option +
                   (is_of_many ? ": allowed with JOBID only"
                               : ": does not go with JOBID"));
  }
  // An empty value, as from an unset variable, must not mean the whole history.
  if (command.count("--since") > 0 && since.empty()) {
    return parse_since(since, 0).error();
  }
  if (command.count("--html") > 0 && is_of_many &&
      command.count("--cluster") == 0) {
    return invalid("report: --html: allowed with JOBID or --cluster only");
  }
  for (const char* other : {"--html", "--json", "--summary", "--follow"}) {
    if (command.count("--csv") == 0 || command.count(other) == 0) continue;
    return invalid(std::string("report: --csv and ") + other + ": choose one");
  }
  return Done{};
}

Status run_chosen(const CLI::App& command, const ReportOptions& it,
                  Terminal& terminal) {
  const Result<Config> config = site_config(it.site);
  if (!config) return config.error();
  const Forms forms = forms_of(command);
  if (forms.count() != 1) {
    return invalid(std::string("report: ") +
                   (forms.count() == 0
                        ? "nothing to report; allowed: one of "
                        : "these do not go together, choose one: ") +
                   kForms);
  }
  Status fits = check_options(command, !forms.job, it.many.since);
  if (!fits) return fits;
  if (forms.job) {
    ReportArguments one = it.one;
    one.csv = it.many.csv;
    return run_report(one, *config, terminal);
  }
  ReportJobsArguments many = it.many;
  many.json = it.one.json;
  many.html_file = it.one.html_file;
  return forms.cluster ? run_report_cluster(many, *config, terminal)
                       : run_report_jobs(many, *config, terminal);
}

void add_one(CLI::App* command, ReportArguments& it) {
  command->add_option_function<std::string>(
      "JOBID",
      [&it](const std::string& text) {
        Result<JobNumber> number = parse_job_number(text);
        if (!number)
          throw CLI::ValidationError("JOBID", number.error().message);
        it.job = *std::move(number);
      },
      "show this job, numbered as squeue prints it: 4711, or 9_1 of an array");
  CLI::Option* json = command->add_flag("--json", it.json, "print JSON");
  CLI::Option* follow =
      command->add_flag("--follow", it.follow,
                        "update the report every second until the job ends");
  CLI::Option* summary =
      command->add_flag("--summary", it.summary, "print one line of JSON")
          ->excludes(json)
          ->excludes(follow);
  command
      ->add_option(
          "--html", it.html_file,
          "write an HTML page with charts to this file; -: standard output")
      ->check(has_text)
      ->excludes(json)
      ->excludes(follow)
      ->excludes(summary);
}

void add_many(CLI::App* command, ReportJobsArguments& it) {
  command
      ->add_option(
          "--user", it.user,
          "show a table of this user's jobs (other users: root only) [you]")
      ->expected(0, 1);
  command
      ->add_option("--array", it.array_job_id,
                   "show a table of this job array's tasks")
      ->check(CLI::Range(uint32_t{1}, UINT32_MAX));
  command->add_flag("--cluster", it.cluster,
                    "show totals over all jobs, without names (root only)");
  command->add_option("--since", it.since,
                      "in a table: jobs of the last 12h, 7d, 2w, or since a "
                      "date such as 2026-11-01 (UTC) [all]");
  command->add_flag("--csv", it.csv,
                    "print the table as CSV; with JOBID, the timeline");
  command->add_option("--controller", it.controller,
                      "for a table: HOST:PORT of penstockctld [Controller]");
}

}  // namespace

Run add_report(CLI::App* command) {
  auto it = std::make_shared<ReportOptions>();
  add_one(command, it->one);
  command->add_option("--dir", it->site.report_dir,
                      "directory of finished jobs' reports [ReportDir]");
  add_many(command, it->many);
  add_site(command, it->site, true);
  return [command, it](Invocation& invocation) {
    return run_chosen(*command, *it, invocation.terminal);
  };
}

}  // namespace penstock
