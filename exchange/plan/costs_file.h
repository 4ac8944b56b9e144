// The costs of exchanging gradients that `penstock bench exchange --calibrate`
// writes. Pure.
#pragma once

#include <string_view>

#include "common/result.h"
#include "exchange/plan/cost_model.h"

namespace penstock::exchange {

// A JSON object with message_s, byte_s, add_s, select_s and record_s, each from
// 0 to 1. Other keys are passed over.
// Errors: kInvalidArgument  names the key, and what is allowed.
[[nodiscard]] Result<ExchangeCosts> parse_costs(std::string_view text);

}  // namespace penstock::exchange
