#include <ostream>

#include "report/json.h"
#include "tools/penstock/client.h"
#include "tools/penstock/command.h"
#include "tools/penstock/live_view.h"

namespace penstock {
namespace {

Result<NodeStatus> node_status(const Config& config) {
  Result<std::string> text = ask_status(config.socket_path, 0);
  if (!text) return std::move(text).error();
  Result<NodeStatus> status = parse_node_status(*text);
  if (!status) return std::move(status).error().wrap("penstockd's answer");
  return status;
}

}  // namespace

Status run_top(const TopArguments& arguments, const Config& config,
               Terminal& terminal) {
  // A pipe or a file gets a single view.
  bool live = terminal.interactive && !arguments.once && !arguments.json;
  while (true) {
    Result<NodeStatus> status = node_status(config);
    if (!status) return std::move(status).error();
    if (live) start_view(terminal);
    terminal.out << (arguments.json ? to_json(*status)
                                    : render_top(*status, terminal.style));
    if (!live || !terminal.out) return Done{};
    end_view(terminal);
  }
}

}  // namespace penstock
