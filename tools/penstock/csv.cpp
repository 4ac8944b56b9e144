#include "tools/penstock/csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "common/shown_text.h"

namespace penstock {

std::string csv_text(std::string_view text) {
  // Also as full-width signs.
  static constexpr std::string_view kSigns[] = {
      "=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"};
  const bool is_formula = std::any_of(
      std::begin(kSigns), std::end(kSigns),
      [&](std::string_view sign) { return text.starts_with(sign); });
  return (is_formula ? "'" : "") + shown_text(text);
}

std::string csv_number(const std::optional<double>& value) {
  if (!value) return "";
  std::array<char, 512> digits;  // room for the largest double
  const auto done = std::to_chars(digits.data(), digits.data() + digits.size(),
                                  *value, std::chars_format::fixed);
  return {digits.data(), done.ptr};
}

std::string csv_record(const std::vector<std::string>& fields) {
  std::string record;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) record += ',';
    if (field.find_first_of(",;\"\r\n") == std::string::npos) {
      record += field;
      continue;
    }
    record += '"';
    for (const char c : field) {
      if (c == '"') record += '"';
      record += c;
    }
    record += '"';
  }
  return record + "\r\n";
}

}  // namespace penstock
