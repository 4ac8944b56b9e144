// JSON as the commands print it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace penstock {

// Indented, with a final newline; bytes that are no UTF-8 are replaced.
template <class Json>
std::string json_text(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace penstock
