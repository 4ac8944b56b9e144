#include "tools/penstock/csv.h"

#include <array>
#include <charconv>

#include "common/units.h"

namespace penstock {

std::string csv_text(std::string_view text) {
  const bool is_formula =
      !text.empty() &&
      std::string_view("=+-@").find(text.front()) != std::string_view::npos;
  return (is_formula ? "'" : "") + printable(text, text.size());
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
