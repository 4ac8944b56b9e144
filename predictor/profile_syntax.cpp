#include "predictor/profile_syntax.h"

#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "common/units.h"
#include "predictor/checked_toml.h"

namespace penstock {
namespace {

using Json = nlohmann::json;

Error wrong_type(const std::string& file_name, std::string_view key) {
  return invalid(file_name + ": " + printable(key) +
                 ": wrong type; allowed: a number, a string or a list of "
                 "numbers");
}

// nullopt: not a number. Not node.value<double>(), which is empty for integers
// that a double cannot hold exactly.
std::optional<double> number(const toml::node& node) {
  if (const auto* whole = node.as_integer())
    return static_cast<double>(whole->get());
  if (const auto* real = node.as_floating_point()) return real->get();
  return std::nullopt;
}

// Converts one TOML value; false for other types.
bool convert(const toml::node& node, ProfileEntry& entry) {
  if (const auto value = number(node)) {
    entry.value = *value;
    return true;
  }
  if (node.is_string()) {
    entry.value = *node.value<std::string>();
    return true;
  }
  const toml::array* list = node.as_array();
  if (!list) return false;
  std::vector<double> numbers;
  for (const toml::node& item : *list) {
    const auto value = number(item);
    if (!value) return false;
    numbers.push_back(*value);
  }
  entry.value = std::move(numbers);
  return true;
}

// Converts one JSON value; false for other types.
bool convert(const Json& node, ProfileEntry& entry) {
  if (node.is_number()) {
    entry.value = node.get<double>();
    return true;
  }
  if (node.is_string()) {
    entry.value = node.get<std::string>();
    return true;
  }
  if (!node.is_array()) return false;
  std::vector<double> numbers;
  for (const Json& item : node) {
    if (!item.is_number()) return false;
    numbers.push_back(item.get<double>());
  }
  entry.value = std::move(numbers);
  return true;
}

}  // namespace

Result<std::vector<ProfileEntry>> read_toml(std::string_view text,
                                            const std::string& file_name) {
  try {
    const toml::table table = toml::parse(text, file_name);
    std::vector<ProfileEntry> entries;
    for (const auto& [key, node] : table) {
      ProfileEntry entry{std::string(key.str()), {}};
      if (!convert(node, entry)) return wrong_type(file_name, key.str());
      entries.push_back(std::move(entry));
    }
    return entries;
  } catch (const toml::parse_error& error) {
    return invalid(file_name + ":" + std::to_string(error.source().begin.line) +
                   ": " + printable(error.description(), 200));
  } catch (const std::exception& error) {
    return invalid(file_name + ": " + printable(error.what(), 200));
  }
}

Result<std::vector<ProfileEntry>> read_json(std::string_view text,
                                            const std::string& file_name) {
  // The library silently keeps the last of duplicate keys. Detect them during
  // parsing.
  std::set<std::string> seen;
  std::string doubled;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1 &&
        !seen.insert(parsed.get<std::string>()).second)
      doubled = parsed.get<std::string>();
    return true;
  };
  try {
    const Json tree = Json::parse(text.begin(), text.end(), watch);
    if (!doubled.empty())
      return invalid(file_name + ": " + printable(doubled) +
                     ": given twice; allowed: once");
    if (!tree.is_object())
      return invalid(file_name + ": not an object; allowed: {\"key\": ...}");
    std::vector<ProfileEntry> entries;
    for (const auto& [key, node] : tree.items()) {
      ProfileEntry entry{key, {}};
      if (!convert(node, entry)) return wrong_type(file_name, key);
      entries.push_back(std::move(entry));
    }
    return entries;
  } catch (const std::exception& error) {
    return invalid(file_name + ": " + printable(error.what(), 200));
  }
}

}  // namespace penstock
