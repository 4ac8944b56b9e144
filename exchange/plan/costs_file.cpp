#include "exchange/plan/costs_file.h"

#include <nlohmann/json.hpp>
#include <string>

namespace penstock::exchange {
namespace {

constexpr struct {
  const char* key;
  double ExchangeCosts::*field;
} kKeys[] = {{"message_s", &ExchangeCosts::message_s},
             {"byte_s", &ExchangeCosts::byte_s},
             {"add_s", &ExchangeCosts::add_s},
             {"select_s", &ExchangeCosts::select_s},
             {"record_s", &ExchangeCosts::record_s}};

}  // namespace

Result<ExchangeCosts> parse_costs(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object())
    return invalid(
        "is not a JSON object; allowed: what penstock bench exchange "
        "--calibrate wrote");
  ExchangeCosts out;
  for (const auto& it : kKeys) {
    const auto found = json.find(it.key);
    if (found == json.end())
      return invalid(std::string(it.key) +
                     ": missing; allowed: what penstock bench exchange "
                     "--calibrate wrote");
    const double value = found->is_number() ? found->get<double>() : -1;
    if (!(value >= 0 && value <= 1))
      return invalid(std::string(it.key) +
                     ": not valid; allowed: seconds from 0 to 1");
    out.*it.field = value;
  }
  return out;
}

}  // namespace penstock::exchange
