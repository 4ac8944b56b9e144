#include "bench/figures.h"

#include <ostream>

namespace penstock {

Status publish_figures(const std::string& name,
                       const std::vector<BenchFigure>& figures,
                       const std::string& json_file, Terminal& terminal) {
  const std::string machine = machine_text();
  terminal.out << machine << "\n" << figures_table(figures);
  if (json_file.empty()) return Done{};
  return write_text(json_file, figures_json(name, machine, figures));
}

}  // namespace penstock
