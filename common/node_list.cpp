#include "common/node_list.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "common/text_scan.h"

namespace penstock {
namespace {

constexpr size_t kMostDigits = 9;

Error wrong(std::string_view text, const std::string& what) {
  return invalid("node list \"" + std::string(text.substr(0, 200)) +
                 "\": " + what);
}

// nullopt: not 1 to 9 digits.
std::optional<uint32_t> number_of(std::string_view text) {
  uint32_t number = 0;
  if (text.size() > kMostDigits || !to_number(text, number)) {
    return std::nullopt;
  }
  return number;
}

// width: that of the range's first number as written.
std::string padded(uint32_t number, size_t width) {
  std::string text = std::to_string(number);
  if (text.size() < width) text.insert(0, width - text.size(), '0');
  return text;
}

// ranges: the text between brackets, such as "01-03,7".
Result<std::vector<std::string>> numbers_in(std::string_view ranges,
                                            std::string_view whole) {
  std::vector<std::string> numbers;
  while (true) {
    const size_t comma = ranges.find(',');
    const std::string_view range = ranges.substr(0, comma);
    const size_t dash = range.find('-');
    const auto first = number_of(range.substr(0, dash));
    const auto last =
        dash == range.npos ? first : number_of(range.substr(dash + 1));
    if (!first || !last || *last < *first) {
      return wrong(whole, "\"" + std::string(range) +
                              "\" is not a number or a range of numbers");
    }
    const size_t width = std::min(dash, range.size());
    if (*last - *first >= kMostListedNodes - numbers.size()) {
      return Error{Code::kLimit, 0, "a node list of too many nodes"};
    }
    for (uint32_t number = *first; number <= *last; ++number) {
      numbers.push_back(padded(number, width));
    }
    if (comma == ranges.npos) return numbers;
    ranges.remove_prefix(comma + 1);
  }
}

// Replaces `names` by all combinations of a name and an ending.
Status multiply(std::vector<std::string>& names,
                const std::vector<std::string>& endings) {
  if (endings.size() > kMostListedNodes / names.size()) {
    return Error{Code::kLimit, 0, "a node list of too many nodes"};
  }
  std::vector<std::string> all;
  all.reserve(names.size() * endings.size());
  for (const std::string& name : names) {
    for (const std::string& ending : endings) all.push_back(name + ending);
  }
  names = std::move(all);
  return Done{};
}

// Removes the first item from `text` and returns its names.
Result<std::vector<std::string>> take_item(std::string_view& text,
                                           std::string_view whole) {
  std::vector<std::string> names{""};
  bool is_empty = true;
  while (!text.empty() && text.front() != ',') {
    is_empty = false;
    if (text.front() == ']') return wrong(whole, "a ] without its [");
    if (text.front() != '[') {
      const size_t end = std::min(text.find_first_of(",[]"), text.size());
      Status added = multiply(names, {std::string(text.substr(0, end))});
      if (!added) return std::move(added).error();
      text.remove_prefix(end);
      continue;
    }
    const size_t close = text.find(']');
    if (close == text.npos) return wrong(whole, "a [ without its ]");
    auto numbers = numbers_in(text.substr(1, close - 1), whole);
    if (!numbers) return std::move(numbers).error();
    Status added = multiply(names, *numbers);
    if (!added) return std::move(added).error();
    text.remove_prefix(close + 1);
  }
  if (is_empty) return wrong(whole, "an empty name");
  return names;
}

}  // namespace

Result<std::vector<std::string>> expand_node_list(std::string_view text) {
  std::vector<std::string> nodes;
  std::string_view rest = text;
  while (true) {
    auto names = take_item(rest, text);
    if (!names) return std::move(names).error();
    if (names->size() > kMostListedNodes - nodes.size()) {
      return Error{Code::kLimit, 0, "a node list of too many nodes"};
    }
    nodes.insert(nodes.end(), names->begin(), names->end());
    if (rest.empty()) return nodes;
    rest.remove_prefix(1);
  }
}

}  // namespace penstock
