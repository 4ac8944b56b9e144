#include "tools/penstock/command_options.h"

namespace penstock {

void add_site(CLI::App* command, Site& site, bool asks_daemon) {
  command->add_option("--config", site.config_path,
                      std::string("configuration file [") + kConfigPath + "]");
  if (!asks_daemon) return;
  command->add_option("--socket", site.socket_path,
                      "penstockd's socket [SocketPath]");
}

std::string has_text(const std::string& text) {
  return text.empty() ? "needs a file's name, or - for standard output" : "";
}

CLI::Option* add_density(CLI::App* command, std::optional<std::string>& density,
                         std::string& costs_file) {
  CLI::Option* out =
      command->add_option("--density", density,
                          "fraction of the gradients' elements that ranks "
                          "exchange: 1%, or 0.1,1,10%");
  command
      ->add_option("--exchange-costs", costs_file,
                   "exchange costs measured by bench exchange")
      ->needs(out);
  return out;
}

}  // namespace penstock
