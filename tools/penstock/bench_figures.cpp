#include "tools/penstock/bench_figures.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include "predictor/quantiles.h"
#include "tools/penstock/json_text.h"

namespace penstock {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown processor";
}

}  // namespace

BenchFigure single(std::string name, std::string unit, double value,
                   size_t runs) {
  return {std::move(name), value, std::move(unit), 0, runs};
}

BenchFigure summarise(std::string name, std::string unit,
                      std::vector<double> runs) {
  const double spread = quantile(runs, 0.75) - quantile(runs, 0.25);
  const size_t count = runs.size();
  return {std::move(name), quantile(std::move(runs), 0.5), std::move(unit),
          spread, count};
}

std::string figures_table(const std::vector<BenchFigure>& figures) {
  std::string out = fmt::format("{:<34}{:>12} {:<6}{:>12}{:>8}\n", "figure",
                                "median", "unit", "quartiles", "runs");
  for (const BenchFigure& it : figures) {
    out += fmt::format("{:<34}{:>12.4g} {:<6}{:>12.3g}{:>8}\n", it.name,
                       it.value, it.unit, it.spread, it.runs);
  }
  return out;
}

std::string figures_json(const std::string& bench, const std::string& machine,
                         const std::vector<BenchFigure>& figures) {
  nlohmann::ordered_json list = nlohmann::json::array();
  for (const BenchFigure& it : figures) {
    list.push_back({{"name", it.name},
                    {"value", it.value},
                    {"unit", it.unit},
                    {"spread", it.spread},
                    {"runs", it.runs}});
  }
  nlohmann::ordered_json json = {
      {"bench", bench}, {"machine", machine}, {"figures", list}};
  return json_text(json);
}

std::string machine_text() {
  utsname system{};
  ::uname(&system);
  return fmt::format("{}, {} CPUs, {} {}", processor_name(),
                     ::sysconf(_SC_NPROCESSORS_ONLN), system.sysname,
                     system.release);
}

Status write_text(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) {
    return system_error(errno ? errno : EIO, "cannot write " + path);
  }
  return Done{};
}

}  // namespace penstock
