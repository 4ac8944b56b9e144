// penstock jobs, nodes, history: views of penstockctld's data.
#include <algorithm>
#include <ostream>

#include "common/clock.h"
#include "common/units.h"
#include "tools/penstock/command_options.h"
#include "tools/penstock/commands.h"
#include "tools/penstock/controller_client.h"
#include "tools/penstock/controller_views.h"
#include "tools/penstock/json_text.h"
#include "tools/penstock/user_names.h"

namespace penstock {
namespace {

constexpr size_t kAllRows = 1'000'000;
constexpr double kDay_s = 86400;

struct ControllerOptions {
  uint32_t job_id = 0;     // 0: all; not for nodes
  std::string user;        // a name or an id; "": all visible users
  std::string node;        // "": all
  double days = 0;         // history: maximum age; 0: all
  size_t limit = 0;        // history: maximum number; 0: all
  std::string controller;  // "": as configured
  bool json = false;
  Site site;
};

Result<ControllerQuery> query_of(const ControllerOptions& options,
                                 ControllerQuery::What what) {
  ControllerQuery query;
  query.what = what;
  if (options.job_id != 0) query.job_id = options.job_id;
  if (!options.user.empty()) {
    Result<uint32_t> uid = uid_of_user(options.user);
    if (!uid) return std::move(uid).error();
    query.uid = *uid;
  }
  query.node = options.node;
  if (options.days > 0) {
    query.since_unix_s = std::max(0.0, unix_s() - options.days * kDay_s);
  }
  return query;
}

Result<nlohmann::json> ask(const ControllerOptions& options,
                           const Config& config, ControllerQuery::What what) {
  Result<ControllerQuery> query = query_of(options, what);
  if (!query) return std::move(query).error();
  Result<Controllers> controllers =
      chosen_controllers(options.controller, config);
  if (!controllers) return std::move(controllers).error();
  MungeCredentials credentials(config.munge_socket);
  return ask_for_all(*controllers, *std::move(query),
                     what == ControllerQuery::What::kNodes ? "nodes" : "jobs",
                     options.limit == 0 ? kAllRows : options.limit,
                     credentials);
}

Status run_jobs(const ControllerOptions& options, const Config& config,
                Terminal& terminal) {
  Result<nlohmann::json> document =
      ask(options, config, ControllerQuery::What::kJobs);
  if (!document) return std::move(document).error();
  if (options.job_id != 0 && document->at("jobs").empty()) {
    return Error{Code::kNotFound, 0,
                 "job " + std::to_string(options.job_id) +
                     ": no managed job of that number that you may see runs; "
                     "penstock history shows those that have ended"};
  }
  terminal.out << (options.json
                       ? json_text(*document)
                       : render_jobs(*document, name_of_user, terminal.style));
  return Done{};
}

Status run_nodes(const ControllerOptions& options, const Config& config,
                 Terminal& terminal) {
  Result<nlohmann::json> document =
      ask(options, config, ControllerQuery::What::kNodes);
  if (!document) return std::move(document).error();
  if (!options.node.empty() && document->at("nodes").empty()) {
    return Error{Code::kNotFound, 0,
                 "node " + printable(options.node) +
                     ": its penstockd has not connected to the controller"};
  }
  terminal.out << (options.json ? json_text(*document)
                                : render_nodes(*document, terminal.style));
  return Done{};
}

Status run_history(const ControllerOptions& options, const Config& config,
                   Terminal& terminal) {
  Result<nlohmann::json> document =
      ask(options, config, ControllerQuery::What::kHistory);
  if (!document) return std::move(document).error();
  terminal.out << (options.json ? json_text(*document)
                                : render_history(*document, name_of_user,
                                                 terminal.style));
  return Done{};
}

void add_controller(CLI::App* command, ControllerOptions& it) {
  command->add_flag("--json", it.json, "print JSON");
  command->add_option("--controller", it.controller,
                      "HOST:PORT of penstockctld [Controller]");
  add_site(command, it.site, false);
}

void add_job_choice(CLI::App* command, ControllerOptions& it) {
  command->add_option("JOBID", it.job_id, "show only the job with this ID")
      ->check(CLI::Range(uint32_t{1}, UINT32_MAX));
  command->add_option("--user", it.user,
                      "show only this user's jobs (root only)");
}

}  // namespace

Run add_jobs(CLI::App* command) {
  auto it = std::make_shared<ControllerOptions>();
  add_job_choice(command, *it);
  command->add_option("--node", it->node, "show only jobs on this node");
  add_controller(command, *it);
  return with_config(it, run_jobs);
}

Run add_nodes(CLI::App* command) {
  auto it = std::make_shared<ControllerOptions>();
  command->add_option("--node", it->node, "show only this node");
  add_controller(command, *it);
  return with_config(it, run_nodes);
}

Run add_history(CLI::App* command) {
  auto it = std::make_shared<ControllerOptions>();
  add_job_choice(command, *it);
  command
      ->add_option("--days", it->days, "show only jobs of the last DAYS days")
      ->check(CLI::Range(0.001, 36500.0));
  it->limit = 50;
  command
      ->add_option("--limit", it->limit, "maximum number of jobs, latest first")
      ->check(CLI::Range(size_t{1}, size_t{1'000'000}))
      ->capture_default_str();
  add_controller(command, *it);
  return with_config(it, run_history);
}

}  // namespace penstock
