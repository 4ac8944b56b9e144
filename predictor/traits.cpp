#include "predictor/traits.h"

#include <fnmatch.h>

#include <string>
#include <vector>

#include "common/units.h"
#include "predictor/csv_table.h"
#include "predictor/data.h"

namespace penstock {
namespace {

struct Rule {
  std::string pattern;
  std::string trait;
  double value;
};

// Skips unreadable rows without a report: the table is compiled in, and a unit
// test reads all of it.
std::vector<Rule> read_rules() {
  std::vector<Rule> rules;
  Result<CsvTable> table = CsvTable::parse(data::kTraits, "traits.csv");
  if (!table) return rules;
  for (size_t i = 0; i < table->rows(); ++i) {
    rules.push_back({table->text(i, "pattern"), table->text(i, "trait"),
                     table->number(i, "value", 0, 10, 0).value_or(0)});
  }
  return rules;
}

}  // namespace

Facts traits_of(std::string_view model) {
  static const std::vector<Rule> rules = read_rules();
  const std::string name = lower_case(model);
  Facts traits;
  for (const Rule& rule : rules) {
    if (::fnmatch(rule.pattern.c_str(), name.c_str(), 0) == 0) {
      traits[rule.trait] = rule.value;
    }
  }
  return traits;
}

}  // namespace penstock
