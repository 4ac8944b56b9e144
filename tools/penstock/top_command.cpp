#include <ostream>

#include "report/json.h"
#include "tools/penstock/client.h"
#include "tools/penstock/command_options.h"
#include "tools/penstock/commands.h"
#include "tools/penstock/live_view.h"

namespace penstock {
namespace {

struct TopOptions {
  bool once = false;
  bool json = false;
  Site site;
};

Result<NodeStatus> node_status(const Config& config) {
  Result<std::string> text = ask_status(config.socket_path, 0);
  if (!text) return std::move(text).error();
  Result<NodeStatus> status = parse_node_status(*text);
  if (!status) return std::move(status).error().wrap("penstockd's answer");
  return status;
}

Status run_top(const TopOptions& options, const Config& config,
               Terminal& terminal) {
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
  command->add_flag("--once", it->once, "print one view and exit");
  command->add_flag("--json", it->json, "print JSON once and exit");
  add_site(command, it->site, true);
  return with_config(it, run_top);
}

}  // namespace penstock
