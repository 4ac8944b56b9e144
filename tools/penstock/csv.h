// Comma-separated values (RFC 4180) that are safe to open in a spreadsheet.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// A field from a user's text, in UTF-8 as of shown_text(). A text that begins
// with = + - or @ gets an apostrophe in front, because a
// spreadsheet would evaluate it as a formula.
std::string csv_text(std::string_view text);
// The shortest text without an exponent that reads back as the same number; "":
// unknown.
std::string csv_number(const std::optional<double>& value);

// One record with its CR LF. Fields with a comma, a semicolon (a separator in
// some spreadsheets), a quote or a line end are quoted.
std::string csv_record(const std::vector<std::string>& fields);

}  // namespace penstock
