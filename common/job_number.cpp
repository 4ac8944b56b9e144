#include "common/job_number.h"

#include <algorithm>
#include <charconv>

#include "common/units.h"

namespace penstock {
namespace {

constexpr size_t kMostStepBytes = 32;

// Takes a number from the front of the text; nullopt: there is none.
std::optional<uint32_t> take_number(std::string_view& text) {
  uint32_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(size_t(end - text.data()));
  return value;
}

// Takes the mark and a number after it; false: the number is missing.
bool take_part(char mark, std::string_view& text,
               std::optional<uint32_t>& found) {
  if (text.empty() || text.front() != mark) return true;
  text.remove_prefix(1);
  found = take_number(text);
  return found.has_value();
}

bool is_step(std::string_view text) {
  return !text.empty() && text.size() <= kMostStepBytes &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                  c == '_' || c == '+';
         });
}

}  // namespace

Result<JobNumber> parse_job_number(std::string_view text) {
  JobNumber out;
  std::string_view rest = text;
  const auto first = take_number(rest);
  const bool is_whole = first && *first > 0 && take_part('_', rest, out.task) &&
                        take_part('+', rest, out.component);
  out.text = std::string(text.substr(0, text.size() - rest.size()));
  if (is_whole && rest.starts_with('.') && is_step(rest.substr(1))) rest = {};
  if (!is_whole || !rest.empty()) {
    return invalid(quoted(text) +
                   ": not a job's number; allowed: as squeue prints it, JOBID, "
                   "JOBID_TASK of an array, JOBID+COMPONENT of a heterogeneous "
                   "job, each with .STEP or without");
  }
  out.first = *first;
  if (!out.task && !out.component) out.id = first;
  return out;
}

}  // namespace penstock
