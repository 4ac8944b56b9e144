// Tables of comma-separated values: a header line with unique names, then
// rows with as many fields. A field may stand between double quotes, in which
// "" is one quote; no field holds a line break. Pure, no throwing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace penstock {

class CsvTable {
 public:
  // name: of the file, for messages. A '#' at the start of a line makes it a
  // comment; empty lines are skipped.
  // Errors: kInvalidArgument  "NAME:LINE: why": no header, a name twice, too
  //         few or many fields, an open quote, text after a closing quote, a
  //         control character; or over 64 columns or 10^6 rows.
  [[nodiscard]] static Result<CsvTable> parse(std::string_view text,
                                              const std::string& name);

  size_t rows() const { return lines_.size(); }
  bool has(std::string_view column) const { return index(column) >= 0; }
  // Errors: kInvalidArgument  the first of the columns that is missing.
  [[nodiscard]] Status require(const std::vector<std::string>& columns) const;

  // "" where there is no such column. REQUIRES: row < rows().
  const std::string& text(size_t row, std::string_view column) const;
  // The number in [low, high]; `otherwise` where the field is empty.
  // Errors: kInvalidArgument  "NAME:LINE: COLUMN: "..." must be ..."
  [[nodiscard]] Result<double> number(size_t row, std::string_view column,
                                      double low, double high,
                                      double otherwise) const;
  // "NAME:LINE: what"
  Error error(size_t row, const std::string& what) const;

 private:
  int index(std::string_view column) const;

  std::string name_;
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> fields_;
  std::vector<size_t> lines_;
};

// The fields with quotes where they need them, and a line break.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace penstock
