// `penstock check-config`.
#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "tools/penstock/checked_config.h"
#include "tools/penstock/commands.h"

namespace penstock {
namespace {

Status run_check_config(const std::string& file, Terminal& terminal) {
  Result<Config> config = load_checked_config(file);
  if (!config) return std::move(config).error();
  terminal.out << "# " << file << ": ok\n" << config_text(*config);
  return Done{};
}

}  // namespace

Run add_check_config(CLI::App* command) {
  auto file = std::make_shared<std::string>();
  command->add_option("FILE", *file, "path of the file")->required();
  return [file](Invocation& invocation) {
    return run_check_config(*file, invocation.terminal);
  };
}

}  // namespace penstock
