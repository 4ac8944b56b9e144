// Fitted costs as a file.
#pragma once

#include <string>

#include "common/result.h"
#include "exchange/plan/cost_model.h"

namespace penstock::exchange {

// Members message_s, byte_s, add_s, select_s and record_s of an object; others,
// of what the costs were measured on, are not looked at.
// Errors: kInvalidArgument  a cost is missing, negative or no number
[[nodiscard]] Result<ExchangeCosts> parse_costs(const std::string& text);
// Errors: also kNotFound, kPermissionDenied, kIo
[[nodiscard]] Result<ExchangeCosts> read_costs(const std::string& path);

}  // namespace penstock::exchange
