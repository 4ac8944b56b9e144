// Comma-separated values (RFC 4180) that are safe to open. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// A text that a user wrote, as a field: bytes outside printable ASCII become
// '?', and one that begins with = + - or @, which a spreadsheet would take for
// a formula, is given an apostrophe in front.
std::string csv_text(std::string_view text);
// The shortest text without an exponent that reads back as the same number; ""
// for unknown.
std::string csv_number(const std::optional<double>& value);

// One record with its CR LF; quotes what holds a comma, a semicolon (which some
// spreadsheets separate by), a quote or a line end.
std::string csv_record(const std::vector<std::string>& fields);

}  // namespace penstock
