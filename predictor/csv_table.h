// Tables of comma-separated values: a header line with unique names, then rows
// with as many fields. Double quotes may enclose a field; "" inside is one
// quote. A field cannot contain a line break. Pure; throws nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace penstock {

class CsvTable {
 public:
  // name: the file's, for messages. Skips empty lines and lines that begin with
  // '#'.
  // Errors: kInvalidArgument  "NAME:LINE: why": no header, a duplicate or empty
  //         column name, too few or many fields, an open quote, text after a
  //         closing quote, a control character, over 64 columns or 10^6 rows.
  [[nodiscard]] static Result<CsvTable> parse(std::string_view text,
                                              const std::string& name);

  size_t rows() const { return lines_.size(); }
  bool has(std::string_view column) const { return index(column) >= 0; }
  // Errors: kInvalidArgument  the message names the first missing column.
  [[nodiscard]] Status require(const std::vector<std::string>& columns) const;

  // "" if there is no such column. REQUIRES: row < rows().
  const std::string& text(size_t row, std::string_view column) const;
  // A number in [low, high]; `otherwise` if the field is empty.
  // Errors: kInvalidArgument  "NAME:LINE: COLUMN: "..." must be ..."
  [[nodiscard]] Result<double> number(size_t row, std::string_view column,
                                      double low, double high,
                                      double otherwise) const;
  // An error "NAME:LINE: what".
  Error error(size_t row, const std::string& what) const;

 private:
  int index(std::string_view column) const;

  std::string name_;
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> fields_;
  std::vector<size_t> lines_;
};

// The fields as a line with its line break; quoted where necessary.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace penstock
