#include <unistd.h>

#include <ostream>

#include "report/json.h"
#include "tools/penstock/client.h"
#include "tools/penstock/command_options.h"
#include "tools/penstock/commands.h"
#include "tools/penstock/live_view.h"
#include "tools/penstock/top_cluster.h"

namespace penstock {
namespace {

struct TopOptions {
  TopClusterOptions view;  // the node's view has some of it
  bool of_cluster = false;
  Site site;
};

Result<NodeStatus> node_status(const Config& config) {
  Result<std::string> text = ask_status(config.socket_path, 0);
  if (!text) return std::move(text).error();
  Result<NodeStatus> status = parse_node_status(*text);
  if (!status) return std::move(status).error().wrap("penstockd's answer");
  return status;
}

bool asks_for_cluster(const TopOptions& options) {
  return options.of_cluster || !options.view.sort.empty() ||
         !options.view.node.empty();
}

// A machine without penstockd, such as a login node, has the cluster's view.
bool is_of_cluster(const TopOptions& options, const Config& config) {
  if (asks_for_cluster(options)) return true;
  if (config.controllers.empty() || !options.site.socket_path.empty()) {
    return false;
  }
  return ::access(config.socket_path.c_str(), F_OK) != 0;
}

Status run_top(const TopOptions& all, const Config& config,
               Terminal& terminal) {
  if (asks_for_cluster(all) && !all.site.socket_path.empty()) {
    return invalid("top: --socket: does not go with --cluster, --sort, --node");
  }
  const TopClusterOptions& options = all.view;
  if (is_of_cluster(all, config)) {
    return run_top_cluster(options, config, terminal);
  }
  // A pipe or a file gets a single view.
  bool live = terminal.interactive && !options.once && !options.json;
  while (true) {
    Result<NodeStatus> status = node_status(config);
    if (!status) return std::move(status).error();
    if (live) start_view(terminal);
    terminal.out << (options.json ? to_json(*status)
                                  : render_top(*status, terminal.style));
    if (!live || !terminal.out) return Done{};
    end_view(terminal);
  }
}

}  // namespace

Run add_top(CLI::App* command) {
  auto it = std::make_shared<TopOptions>();
  TopClusterOptions& view = it->view;
  command->add_flag("--once", view.once, "print one view and exit");
  command->add_flag("--json", view.json, "print JSON once and exit");
  command->add_flag("--cluster", it->of_cluster,
                    "show all nodes, from a controller [on a machine without "
                    "penstockd]");
  command
      ->add_option("--sort", view.sort,
                   "with --cluster: sort by this column, such as RATE/S [JOB]")
      ->check(has_text);
  command
      ->add_option("--node", view.node,
                   "with --cluster: only jobs on this node")
      ->check(has_text);
  add_site(command, it->site, true);
  return with_config(it, run_top);
}

}  // namespace penstock
