// Agreement of all ranks on what they exchange.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "common/result.h"
#include "exchange/context/options.h"
#include "exchange/transport/transport.h"

namespace penstock::exchange {

// The reason, if another rank has failed.
using Heard = std::function<std::optional<std::string>()>;

// Collective: compares all ranks' options and layers. Returns rank 0's costs.
//
// refusal: why this rank cannot take part, or "". heard: called while waiting,
// unless empty. The transport needs one reserved request.
// Errors: kInvalidArgument  a rank refuses, or two differ; the same text on all
//         kUnavailable      a rank does not answer within options.timeout_s, or
//                           has failed
//         kLimit            no memory for the records
//         kIo               the transport's
[[nodiscard]] Result<ExchangeCosts> agree(Transport& transport,
                                          const ContextOptions& options,
                                          std::span<const LayerOptions> layers,
                                          const std::string& refusal,
                                          const Heard& heard = {});

}  // namespace penstock::exchange
