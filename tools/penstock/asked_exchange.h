// The exchange of gradients as an input of `penstock predict` and `penstock
// what-if`.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "predictor/exchange_ceiling.h"
#include "predictor/job_features.h"

namespace penstock {

// Options for a rank's ceiling at other densities of the gradient exchange. 0
// and "": take the profile's or the model's value.
struct ExchangeArguments {
  std::optional<std::string> density;  // in parse_amounts()'s form
  std::string costs_file;
  std::string interconnect;  // a rate
  double params_m = 0;
  double batch = 0;
  int gpus = 0;
  int nodes = 0;
};

struct AskedExchange {
  std::vector<double> densities;  // ascending; includes 1, the dense exchange
  // Densities named by the user, the candidates for advice.
  std::vector<double> named;
  GradientExchange exchange;
  bool knows_costs = false;  // else only the link's bandwidth counts
};

// nullopt: no density was named. Missing arguments are taken from the job; the
// number of ranks is `ranks`.
// Errors: kInvalidArgument  names the option and its requirement
//         and read_file()'s for the cost file
[[nodiscard]] Result<std::optional<AskedExchange>> asked_exchange(
    const ExchangeArguments& arguments, const JobFeatures& job, int64_t ranks);

// "110M parameters, 16 ranks, 1.16 GB/s each".
std::string exchange_text(const AskedExchange& asked);

// The limitation of the figures if AskedExchange::knows_costs is false.
inline constexpr const char* kOnlyLinkNote =
    "Of the exchange only the link's bandwidth counts here; --exchange-costs "
    "FILE brings what messages, sums and selecting take.";

// Method for most of the elements: "dense", "allgather", "two-phase".
const char* method_name(const StepTimes& step);

// "1.54 s", "660 ms", "77.1 us".
std::string time_text(double seconds);

// For JSON: the exchange, and the times of a step.
nlohmann::ordered_json exchange_json(const AskedExchange& asked);
nlohmann::ordered_json step_json(const StepTimes& step);

}  // namespace penstock
