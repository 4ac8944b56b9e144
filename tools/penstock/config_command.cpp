#include <ostream>

#include "tools/penstock/checked_config.h"
#include "tools/penstock/command.h"

namespace penstock {

Status run_check_config(const std::string& file, Terminal& terminal) {
  Result<Config> config = load_checked_config(file);
  if (!config) return std::move(config).error();
  terminal.out << "# " << file << ": ok\n" << config_text(*config);
  return Done{};
}

}  // namespace penstock
