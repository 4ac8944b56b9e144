#include "tools/penstock/command_options.h"

namespace penstock {
namespace {

void add_controller(CLI::App* command, ControllerArguments& it, Site& site) {
  command->add_flag("--json", it.json, "print JSON");
  command->add_option("--controller", it.controller,
                      "HOST:PORT of penstockctld [Controller]");
  add_site(command, site, false);
}

void add_job_choice(CLI::App* command, ControllerArguments& it) {
  command->add_option("JOBID", it.job_id, "only the job of that number")
      ->check(CLI::Range(uint32_t{1}, UINT32_MAX));
  command->add_option("--user", it.user, "only that user's jobs (root only)");
}

}  // namespace

std::string has_text(const std::string& text) {
  return text.empty() ? "needs a file's name, or - for standard output" : "";
}

void add_site(CLI::App* command, Site& site, bool asks_daemon) {
  command->add_option("--config", site.config_path,
                      std::string("configuration file [") + kConfigPath + "]");
  if (!asks_daemon) return;
  command->add_option("--socket", site.socket_path,
                      "penstockd's socket [SocketPath]");
}

void add_report(CommandLine& line) {
  CLI::App* command = line.app.add_subcommand(
      "report", "Show what a job was granted and where its time went");
  command->add_option("JOBID", line.report.job_id, "one job, by its number")
      ->check(CLI::Range(uint32_t{1}, UINT32_MAX));
  CLI::Option* json =
      command->add_flag("--json", line.report.json, "print JSON");
  CLI::Option* follow =
      command->add_flag("--follow", line.report.follow,
                        "show it anew every second until the job ends");
  command
      ->add_option("--html", line.report.html_file,
                   "write it here as a page with charts; -: standard output")
      ->check(has_text)
      ->excludes(json)
      ->excludes(follow);
  command->add_option("--dir", line.site.report_dir,
                      "where finished jobs' reports are [ReportDir]");
  add_many_reports(command, line);
  add_site(command, line.site, true);
}

void add_top(CommandLine& line) {
  CLI::App* command =
      line.app.add_subcommand("top", "Show this node's managed jobs, live");
  command->add_flag("--once", line.top.once, "print one view and exit");
  command->add_flag("--json", line.top.json, "print JSON once and exit");
  add_site(command, line.site, true);
}

void add_jobs(CommandLine& line) {
  CLI::App* command = line.app.add_subcommand(
      "jobs", "Show the cluster's running managed jobs");
  add_job_choice(command, line.jobs);
  command->add_option("--node", line.jobs.node, "only jobs on that node");
  add_controller(command, line.jobs, line.site);
}

void add_nodes(CommandLine& line) {
  CLI::App* command = line.app.add_subcommand(
      "nodes", "Show the cluster's nodes and storage pools");
  command->add_option("--node", line.nodes.node, "only that node");
  add_controller(command, line.nodes, line.site);
}

void add_history(CommandLine& line) {
  CLI::App* command =
      line.app.add_subcommand("history", "Show what earlier jobs measured");
  add_job_choice(command, line.history);
  command
      ->add_option("--days", line.history.days,
                   "only jobs of the last so many days")
      ->check(CLI::Range(0.001, 36500.0));
  line.history.limit = 50;
  command->add_option("--limit", line.history.limit, "the latest so many")
      ->check(CLI::Range(size_t{1}, size_t{1'000'000}))
      ->capture_default_str();
  add_controller(command, line.history, line.site);
}

}  // namespace penstock
