#include "predictor/csv_table.h"

#include <algorithm>

#include "common/text_scan.h"
#include "common/units.h"

namespace penstock {
namespace {

constexpr size_t kMaxColumns = 64;
constexpr size_t kMaxRows = 1000000;
const std::string kNothing;

// Removes one field and a following comma from the front of line. more: set to
// whether a comma followed.
Result<std::string> take_field(std::string_view& line, bool& more) {
  std::string field;
  if (line.starts_with('"')) {
    line.remove_prefix(1);
    while (true) {
      const size_t quote = line.find('"');
      if (quote == line.npos) return invalid("a quote is not closed");
      field += line.substr(0, quote);
      line.remove_prefix(quote + 1);
      if (!line.starts_with('"')) break;
      field += '"';
      line.remove_prefix(1);
    }
    if (!line.empty() && line[0] != ',') {
      return invalid("text follows a closing quote; allowed: a comma");
    }
  } else {
    const size_t end = std::min(line.find(','), line.size());
    field = line.substr(0, end);
    line.remove_prefix(end);
  }
  more = line.starts_with(',');
  if (more) line.remove_prefix(1);
  return field;
}

Result<std::vector<std::string>> split(std::string_view line) {
  for (char c : line) {
    if (static_cast<unsigned char>(c) < ' ' && c != '\t') {
      return invalid("a control character; allowed: text");
    }
  }
  std::vector<std::string> fields;
  for (bool more = true; more;) {
    if (fields.size() == kMaxColumns) {
      return invalid("over 64 columns; allowed: 64");
    }
    Result<std::string> field = take_field(line, more);
    if (!field) return std::move(field).error();
    fields.push_back(*std::move(field));
  }
  return fields;
}

Status check_header(const std::vector<std::string>& columns) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].empty()) return invalid("a column has no name");
    if (std::find(columns.begin(), columns.begin() + i, columns[i]) !=
        columns.begin() + i) {
      return invalid("column " + quoted(columns[i]) + " is there twice");
    }
  }
  return Done{};
}

}  // namespace

Result<CsvTable> CsvTable::parse(std::string_view text,
                                 const std::string& name) {
  CsvTable table;
  table.name_ = name;
  for (size_t number = 1; !text.empty(); ++number) {
    std::string_view line = take_line(text);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line[0] == '#') continue;
    const std::string place = name + ":" + std::to_string(number);
    Result<std::vector<std::string>> fields = split(line);
    if (!fields) return std::move(fields).error().wrap(place);
    if (table.columns_.empty()) {
      if (Status status = check_header(*fields); !status) {
        return std::move(status).error().wrap(place);
      }
      table.columns_ = *std::move(fields);
      continue;
    }
    if (fields->size() != table.columns_.size()) {
      return invalid(place + ": " + std::to_string(fields->size()) +
                     " fields; the header names " +
                     std::to_string(table.columns_.size()));
    }
    if (table.lines_.size() == kMaxRows) {
      return invalid(place + ": over 1000000 rows; allowed: 1000000");
    }
    table.fields_.push_back(*std::move(fields));
    table.lines_.push_back(number);
  }
  if (table.columns_.empty()) return invalid(name + ": no header line");
  return table;
}

int CsvTable::index(std::string_view column) const {
  const auto at = std::find(columns_.begin(), columns_.end(), column);
  return at == columns_.end() ? -1 : static_cast<int>(at - columns_.begin());
}

Status CsvTable::require(const std::vector<std::string>& columns) const {
  for (const std::string& column : columns) {
    if (!has(column)) {
      return invalid(name_ + ": column " + quoted(column) + " is missing");
    }
  }
  return Done{};
}

const std::string& CsvTable::text(size_t row, std::string_view column) const {
  const int at = index(column);
  return at < 0 ? kNothing : fields_[row][at];
}

Result<double> CsvTable::number(size_t row, std::string_view column, double low,
                                double high, double otherwise) const {
  const std::string& field = text(row, column);
  if (field.empty()) return otherwise;
  Result<double> value = parse_number(field, low, high);
  if (!value) {
    return error(row, std::string(column) + ": " + value.error().message);
  }
  return value;
}

Error CsvTable::error(size_t row, const std::string& what) const {
  return invalid(name_ + ":" + std::to_string(lines_[row]) + ": " + what);
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) line += ',';
    if (field.find_first_of(",\"") == field.npos) {
      line += field;
      continue;
    }
    line += '"';
    for (char c : field)
      line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  return line + "\n";
}

}  // namespace penstock
