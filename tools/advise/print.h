// Advice as text and as JSON. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "report/render.h"
#include "tools/advise/advice.h"

namespace penstock::advise {

std::string advice_text(const Request& request, const Advice& advice,
                        const TextStyle& style);
// docs/report.md, section "Advice before a submission".
nlohmann::json advice_json(const Request& request, const Advice& advice);

}  // namespace penstock::advise
