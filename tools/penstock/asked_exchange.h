// The exchange of gradients that `penstock predict` and `penstock what-if` are
// asked about.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "predictor/exchange_ceiling.h"
#include "predictor/job_features.h"
#include "tools/penstock/command.h"

namespace penstock {

struct AskedExchange {
  std::vector<double> densities;  // ascending, with 1: the dense one
  // That were named; one of them is what the user would set.
  std::vector<double> named;
  GradientExchange exchange;
  bool knows_costs = false;  // else only the link's bandwidth counts
};

// nullopt: no density was named. What the arguments leave open is the job's,
// and the ranks are `ranks`.
// Errors: kInvalidArgument  names the option, and what it needs
//         and read_file()'s of the file of costs
[[nodiscard]] Result<std::optional<AskedExchange>> asked_exchange(
    const ExchangeArguments& arguments, const JobFeatures& job, int64_t ranks);

// "110M parameters, 16 ranks, 1.16 GB/s each".
std::string exchange_text(const AskedExchange& asked);

// What the figures leave out where AskedExchange::knows_costs is false.
inline constexpr const char* kOnlyLinkNote =
    "Of the exchange only the link's bandwidth counts here; --exchange-costs "
    "FILE brings what messages, sums and selecting take.";

// How most of the elements are exchanged: "dense", "allgather", "two-phase".
const char* method_name(const StepTimes& step);

// "1.54 s", "660 ms", "77.1 us".
std::string time_text(double seconds);

// For JSON: what was asked about, and a step's times.
nlohmann::ordered_json exchange_json(const AskedExchange& asked);
nlohmann::ordered_json step_json(const StepTimes& step);

}  // namespace penstock
