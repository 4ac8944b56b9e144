// Parser of the costs that `penstock bench exchange --calibrate` writes. Pure.
#pragma once

#include <string_view>

#include "common/result.h"
#include "exchange/plan/cost_model.h"

namespace penstock::exchange {

// text: a JSON object with message_s, byte_s, add_s, select_s and record_s,
// each from 0 to 1 second. Other keys are ignored.
// Errors: kInvalidArgument  not an object, or a missing or invalid key; the
//                           message names the key and the allowed values
[[nodiscard]] Result<ExchangeCosts> parse_costs(std::string_view text);

}  // namespace penstock::exchange
