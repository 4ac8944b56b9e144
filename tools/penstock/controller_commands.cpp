// penstock jobs, nodes, history: views of penstockctld's data.
#include <ostream>

#include "common/clock.h"
#include "common/units.h"
#include "tools/penstock/command.h"
#include "tools/penstock/controller_client.h"
#include "tools/penstock/controller_views.h"
#include "tools/penstock/user_names.h"

namespace penstock {
namespace {

constexpr size_t kAllRows = 1'000'000;
constexpr double kDay_s = 86400;

Result<ControllerQuery> query_of(const ControllerArguments& arguments,
                                 ControllerQuery::What what) {
  ControllerQuery query;
  query.what = what;
  if (arguments.job_id != 0) query.job_id = arguments.job_id;
  if (!arguments.user.empty()) {
    Result<uint32_t> uid = uid_of_user(arguments.user);
    if (!uid) return std::move(uid).error();
    query.uid = *uid;
  }
  query.node = arguments.node;
  if (arguments.days > 0) {
    query.since_unix_s = unix_s() - arguments.days * kDay_s;
  }
  return query;
}

Result<nlohmann::json> ask(const ControllerArguments& arguments,
                           const Config& config, ControllerQuery::What what) {
  Result<ControllerQuery> query = query_of(arguments, what);
  if (!query) return std::move(query).error();
  Result<std::vector<ControllerAddress>> controllers =
      chosen_controllers(arguments.controller, config);
  if (!controllers) return std::move(controllers).error();
  MungeCredentials credentials(config.munge_socket);
  return ask_for_all(*controllers, *std::move(query),
                     what == ControllerQuery::What::kNodes ? "nodes" : "jobs",
                     arguments.limit == 0 ? kAllRows : arguments.limit,
                     credentials);
}

void print_json(const nlohmann::json& document, Terminal& terminal) {
  terminal.out << document.dump(2, ' ', false,
                                nlohmann::json::error_handler_t::replace)
               << "\n";
}

}  // namespace

Status run_jobs(const ControllerArguments& arguments, const Config& config,
                Terminal& terminal) {
  Result<nlohmann::json> document =
      ask(arguments, config, ControllerQuery::What::kJobs);
  if (!document) return std::move(document).error();
  if (arguments.job_id != 0 && document->at("jobs").empty()) {
    return Error{Code::kNotFound, 0,
                 "job " + std::to_string(arguments.job_id) +
                     ": no managed job of that number that you may see runs; "
                     "penstock history shows those that have ended"};
  }
  if (arguments.json) {
    print_json(*document, terminal);
  } else {
    terminal.out << render_jobs(*document, name_of_user, terminal.style);
  }
  return Done{};
}

Status run_nodes(const ControllerArguments& arguments, const Config& config,
                 Terminal& terminal) {
  Result<nlohmann::json> document =
      ask(arguments, config, ControllerQuery::What::kNodes);
  if (!document) return std::move(document).error();
  if (!arguments.node.empty() && document->at("nodes").empty()) {
    return Error{Code::kNotFound, 0,
                 "node " + printable(arguments.node) +
                     ": its penstockd has not said hello to the controller"};
  }
  if (arguments.json) {
    print_json(*document, terminal);
  } else {
    terminal.out << render_nodes(*document, terminal.style);
  }
  return Done{};
}

Status run_history(const ControllerArguments& arguments, const Config& config,
                   Terminal& terminal) {
  Result<nlohmann::json> document =
      ask(arguments, config, ControllerQuery::What::kHistory);
  if (!document) return std::move(document).error();
  if (arguments.json) {
    print_json(*document, terminal);
  } else {
    terminal.out << render_history(*document, name_of_user, terminal.style);
  }
  return Done{};
}

}  // namespace penstock
