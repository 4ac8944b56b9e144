#include "tools/penstock/report_jobs.h"

#include <unistd.h>

#include <ostream>

#include "common/clock.h"
#include "common/units.h"
#include "tools/penstock/cluster_table.h"
#include "tools/penstock/controller_client.h"
#include "tools/penstock/job_table.h"
#include "tools/penstock/json_text.h"
#include "tools/penstock/since.h"
#include "tools/penstock/user_names.h"
#include "tools/penstock/write_page.h"
#include "wire/history_row.h"

namespace penstock {
namespace {

using nlohmann::json;

Result<double> since_of(const ReportJobsArguments& arguments) {
  if (arguments.since.empty()) return 0.0;
  return parse_since(arguments.since, unix_s());
}

// Fetches all pages, from the controllers of the arguments or of the site.
Status ask(const ReportJobsArguments& arguments, const Config& config,
           const ControllerQuery& query, const TakePage& take) {
  Result<Controllers> controllers =
      chosen_controllers(arguments.controller, config);
  if (!controllers) return std::move(controllers).error();
  if (controllers->addresses.empty()) {
    return invalid(
        "no controller is configured, and only its history knows more than "
        "one job: set Controller= in penstock.conf, or name one with "
        "--controller; penstock report JOBID needs none");
  }
  MungeCredentials credentials(config.munge_socket);
  return ask_pages(*controllers, query, credentials, take);
}

bool is_task_of(const JobRecord& job, uint32_t array_job_id) {
  return job.array_job_id == array_job_id;
}

Error nothing_found(const ReportJobsArguments& arguments) {
  if (arguments.array_job_id != 0) {
    return Error{Code::kNotFound, 0,
                 "array " + std::to_string(arguments.array_job_id) +
                     ": the controller remembers no managed job of it that "
                     "you may see; penstock history shows those that it does"};
  }
  return Error{Code::kNotFound, 0,
               "the controller remembers no managed job of " +
                   printable(arguments.user.empty() ? name_of_user(::geteuid())
                                                    : arguments.user) +
                   (arguments.since.empty()
                        ? ""
                        : ", seen since " + printable(arguments.since))};
}

Result<ControllerQuery> jobs_query(const ReportJobsArguments& arguments) {
  ControllerQuery query;
  query.what = ControllerQuery::What::kHistory;
  Result<double> since = since_of(arguments);
  if (!since) return std::move(since).error();
  query.since_unix_s = *since;
  if (arguments.array_job_id != 0) {
    // No user filter, because root may see all users' arrays.
    query.job_id = arguments.array_job_id;
    return query;
  }
  Result<uint32_t> uid = arguments.user.empty() ? Result<uint32_t>(::geteuid())
                                                : uid_of_user(arguments.user);
  if (!uid) return std::move(uid).error();
  query.uid = *uid;
  return query;
}

// A controller that does not know the query lists those that it knows.
Error older_controller(Error error) {
  if (!error.message.starts_with("query: what:")) return error;
  return Error{Code::kUnavailable, 0,
               "penstockctld on that host is of an earlier release, which "
               "keeps no totals: install this release's"};
}

}  // namespace

Status run_report_jobs(const ReportJobsArguments& arguments,
                       const Config& config, Terminal& terminal) {
  Result<ControllerQuery> query = jobs_query(arguments);
  if (!query) return std::move(query).error();
  std::vector<JobRecord> jobs;
  const uint32_t array = arguments.array_job_id;
  Status asked = ask(arguments, config, *query, [&](const json& page) {
    for (const json& row : page.at("jobs")) {
      JobRecord job = read_history_row(row);
      if (array == 0 || is_task_of(job, array)) jobs.push_back(std::move(job));
    }
    return kMaxQueryRows;
  });
  if (!asked) return asked;
  if (jobs.empty()) return nothing_found(arguments);
  JobTable table = make_job_table(std::move(jobs));
  table.since_unix_s = query->since_unix_s;
  if (array != 0) table.array_job_id = array;
  if (arguments.csv) {
    terminal.out << job_table_csv(table);
  } else if (arguments.json) {
    terminal.out << json_text(job_table_json(table));
  } else {
    terminal.out << render_job_table(table, terminal.style);
  }
  return Done{};
}

Status run_report_cluster(const ReportJobsArguments& arguments,
                          const Config& config, Terminal& terminal) {
  ControllerQuery query;
  query.what = ControllerQuery::What::kTotals;
  Result<double> since = since_of(arguments);
  if (!since) return std::move(since).error();
  query.since_unix_s = *since;
  StallTotals totals;
  Status asked = ask(arguments, config, query, [&](const json& page) {
    totals.add(read_stall_totals(page.at("totals")));
    return kMaxQueryRows;
  });
  if (!asked) return older_controller(std::move(asked).error());
  if (!arguments.html_file.empty()) {
    return write_page(render_cluster_page(totals, *since), arguments.html_file,
                      terminal);
  }
  if (arguments.csv) {
    terminal.out << cluster_table_csv(totals, *since);
  } else if (arguments.json) {
    terminal.out << json_text(cluster_table_json(totals, *since));
  } else {
    terminal.out << render_cluster_table(totals, *since, terminal.style);
  }
  return Done{};
}

}  // namespace penstock
