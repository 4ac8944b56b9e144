// Writes profiles as TOML.
#include <string_view>

#include "common/units.h"
#include "predictor/profile.h"
#include "predictor/profile_keys.h"

namespace penstock {
namespace {

using namespace profile_keys;

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (char c : text.substr(0, kMaxNameBytes)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

void add(const char* key, const std::string& value, std::string& out) {
  out += std::string(key) + " = " + value + "\n";
}

void add_list(const List& rule, const Profile& profile, std::string& out) {
  const std::vector<double>& numbers = profile.*rule.field;
  if (numbers.empty()) return;
  std::string list;
  for (double number : numbers)
    list += (list.empty() ? "" : ", ") + format_number(number);
  add(rule.key, "[" + list + "]", out);
}

}  // namespace

std::string profile_text(const Profile& profile) {
  Profile given = profile;  // a copy: the rules return mutable references
  Profile absent;
  std::string out;
  for (const Text& rule : kTexts)
    if (!rule.field(given).empty())
      add(rule.key, in_quotes(rule.field(given)), out);
  for (const Number& rule : kNumbers)
    if (given.*rule.field != absent.*rule.field)
      add(rule.key, format_number(given.*rule.field), out);
  for (const List& rule : kLists) add_list(rule, given, out);
  for (const Exponent& rule : kExponents)
    if (given.*rule.field != 0)
      add(rule.key, format_number(given.*rule.field), out);
  for (const Whole& rule : kWholes)
    if (rule.field(given) != rule.field(absent))
      add(rule.key, std::to_string(rule.field(given)), out);
  for (const JobNumber& rule : kJobNumbers)
    if (given.job.*rule.field != absent.job.*rule.field)
      add(rule.key, format_number(given.job.*rule.field), out);
  if (given.job.precision == Precision::kTf32)
    add("precision", "\"TF32\"", out);
  if (given.job.precision == Precision::kHalf) add("precision", "\"AMP\"", out);
  return out;
}

}  // namespace penstock
