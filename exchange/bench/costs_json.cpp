#include "exchange/bench/costs_json.h"

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace penstock::exchange {

Result<ExchangeCosts> parse_costs(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  ExchangeCosts costs;
  const std::pair<const char*, double*> members[] = {
      {"message_s", &costs.message_s},
      {"byte_s", &costs.byte_s},
      {"add_s", &costs.add_s},
      {"select_s", &costs.select_s},
      {"record_s", &costs.record_s}};
  for (const auto& [name, cost] : members) {
    const auto found = json.is_object() ? json.find(name) : json.end();
    if (found == json.end() || !found->is_number()) {
      return invalid(std::string("no number ") + name +
                     ": penstock bench exchange --calibrate writes such files");
    }
    *cost = found->get<double>();
    if (!(*cost >= 0)) {
      return invalid(std::string(name) + ": must be 0 or more");
    }
  }
  return costs;
}

Result<ExchangeCosts> read_costs(const std::string& path) {
  std::ifstream file(path);
  if (!file) return system_error(errno, path);
  std::ostringstream text;
  text << file.rdbuf();
  Result<ExchangeCosts> costs = parse_costs(text.str());
  if (!costs) return std::move(costs).error().wrap(path);
  return costs;
}

}  // namespace penstock::exchange
