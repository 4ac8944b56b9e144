// The ranks tell each other what they are about to exchange.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "exchange/context/context.h"

namespace penstock::exchange {

// Why a rank has failed meanwhile, where one has.
using Heard = std::function<std::optional<std::string>()>;

// All ranks call it. Returns rank 0's costs.
// refusal: why this rank cannot go on, or "". The transport needs room for an
// operation. heard: none, where it is not asked.
// Errors: kInvalidArgument  a rank refuses, or two differ: the same text on all
//         kUnavailable      a rank does not answer in options.timeout_s, or has
//                           failed
//         kIo               the transport's
[[nodiscard]] Result<ExchangeCosts> agree(Transport& transport,
                                          const ContextOptions& options,
                                          std::span<const LayerOptions> layers,
                                          const std::string& refusal,
                                          const Heard& heard = {});

}  // namespace penstock::exchange
