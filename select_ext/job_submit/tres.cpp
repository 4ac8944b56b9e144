#include "select_ext/job_submit/tres.h"

#include <algorithm>
#include <charconv>

namespace penstock::job_submit {
namespace {

struct Entry {
  std::string_view name;
  std::string_view type;  // "": none
  uint64_t count = 1;
};

// Parses a count such as "4" or "2K"; false if text is not a count.
bool parse_count(std::string_view text, uint64_t& count) {
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), count);
  if (end == text.data()) return false;
  if (error != std::errc()) count = kMaxCount;  // over 64 bits
  const std::string_view suffix(
      end, static_cast<size_t>(text.data() + text.size() - end));
  if (suffix.size() > 1) return false;
  if (!suffix.empty()) {
    const char letter = static_cast<char>(suffix[0] & ~0x20);
    const size_t power = std::string_view("KMGTP").find(letter);
    if (power == std::string_view::npos) return false;
    for (size_t i = 0; i <= power; ++i)
      count = std::min(count, kMaxCount) * 1024;
  }
  count = std::min(count, kMaxCount);
  return true;
}

std::string_view take_until(std::string_view& text, const char* separators) {
  const size_t end = std::min(text.find_first_of(separators), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

Entry parse_entry(std::string_view text) {
  if (text.starts_with("gres:") || text.starts_with("gres/"))
    text.remove_prefix(5);
  Entry entry;
  entry.name = take_until(text, ":=");
  while (!text.empty()) {
    const std::string_view word = take_until(text, ":=");
    if (!parse_count(word, entry.count)) entry.type = word;
  }
  return entry;
}

// Calls see(entry) for each entry until it returns false.
template <class See>
void each_entry(std::string_view list, See see) {
  while (!list.empty())
    if (const std::string_view text = take_until(list, ",;");
        !text.empty() && !see(parse_entry(text)))
      return;
}

}  // namespace

uint64_t gres_count(std::string_view list, std::string_view name) {
  uint64_t sum = 0;
  each_entry(list, [&](const Entry& entry) {
    if (entry.name == name) sum = std::min(sum + entry.count, kMaxCount);
    return true;
  });
  return sum;
}

bool names_gres(std::string_view list, std::string_view name) {
  bool found = false;
  each_entry(list, [&](const Entry& entry) {
    found = entry.name == name;
    return !found;
  });
  return found;
}

bool names_any_gres(std::string_view list) {
  bool found = false;
  each_entry(list, [&](const Entry& entry) {
    found = entry.name != "cpu" && entry.name != "mem" &&
            entry.name.find('/') == std::string_view::npos;
    return !found;
  });
  return found;
}

std::string_view gres_type(std::string_view list, std::string_view name) {
  std::string_view type;
  each_entry(list, [&](const Entry& entry) {
    if (entry.name == name) type = entry.type;
    return entry.name != name;
  });
  return type;
}

}  // namespace penstock::job_submit
