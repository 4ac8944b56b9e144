// penstockctld's answers as text. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "report/render.h"

namespace penstock {

using UserName = std::function<std::string(uint32_t uid)>;

// The documents of docs/protocol.md, "Questions to a controller". As with
// render_top() no line is wider than style.width, and names cannot control the
// terminal. A value that is missing or of another type is shown as "-".
// marked: a row that stands out.
std::string render_jobs(const nlohmann::json& document,
                        const UserName& user_name, const TextStyle& style = {},
                        std::optional<size_t> marked = std::nullopt);
std::string render_nodes(const nlohmann::json& document,
                         const TextStyle& style = {},
                         std::optional<size_t> marked = std::nullopt);
std::string render_history(const nlohmann::json& document,
                           const UserName& user_name,
                           const TextStyle& style = {});

}  // namespace penstock
