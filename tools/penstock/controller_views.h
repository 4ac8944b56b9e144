// What penstockctld answers, as text for people. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "report/render.h"

namespace penstock {

using UserName = std::function<std::string(uint32_t uid)>;

// Documents of docs/protocol.md, "Questions to a controller". As render_top():
// no line is wider than style.width, names cannot drive the terminal, and what
// is missing or of another kind is shown as "-".
std::string render_jobs(const nlohmann::json& document,
                        const UserName& user_name, const TextStyle& style = {});
std::string render_nodes(const nlohmann::json& document,
                         const TextStyle& style = {});
std::string render_history(const nlohmann::json& document,
                           const UserName& user_name,
                           const TextStyle& style = {});

}  // namespace penstock
