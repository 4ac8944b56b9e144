// What a hostile node sends: any message that the reader admits.
#pragma once

#include <optional>

#include "tests/model/trial.h"
#include "wire/messages.h"

namespace penstock::model {

// nullopt: the reader refuses what was made.
std::optional<AgentMessage> random_lie(Trial& trial, uint64_t highest_term);

}  // namespace penstock::model
