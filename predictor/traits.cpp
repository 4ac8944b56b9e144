#include "predictor/traits.h"

#include <fnmatch.h>

#include <string>
#include <vector>

#include "predictor/csv_table.h"
#include "predictor/data.h"

namespace penstock {
namespace {

struct Named {
  const char* name;
  double Traits::*field;
};
constexpr Named kTraits[] = {
    {"depthwise", &Traits::depthwise},
    {"grouped", &Traits::grouped},
    {"attention", &Traits::attention},
    {"mlp", &Traits::mlp},
    {"recurrent", &Traits::recurrent},
    {"embedding", &Traits::embedding},
    {"squeeze", &Traits::squeeze},
    {"gate", &Traits::gate},
    {"slow_norm", &Traits::slow_norm},
    {"standardised", &Traits::standardised},
    {"antialias", &Traits::antialias},
    {"windows", &Traits::windows},
    {"split", &Traits::split},
    {"branches", &Traits::branches},
    {"concatenated", &Traits::concatenated},
    {"no_norm", &Traits::no_norm},
    {"plain_3x3", &Traits::plain_3x3},
    {"large_kernel", &Traits::large_kernel},
    {"wide_groups", &Traits::wide_groups},
    {"irregular", &Traits::irregular},
    {"layers", &Traits::layers},
};

struct Rule {
  std::string pattern;
  double Traits::*field;
  double value;
};

// Skips unreadable rows without a report: the table is compiled in, and a unit
// test reads all of it.
std::vector<Rule> read_rules() {
  std::vector<Rule> rules;
  Result<CsvTable> table = CsvTable::parse(data::kTraits, "traits.csv");
  if (!table) return rules;
  for (size_t i = 0; i < table->rows(); ++i) {
    for (const Named& trait : kTraits) {
      if (table->text(i, "trait") != trait.name) continue;
      rules.push_back({table->text(i, "pattern"), trait.field,
                       table->number(i, "value", 0, 10, 0).value_or(0)});
    }
  }
  return rules;
}

}  // namespace

Traits traits_of(std::string_view model) {
  static const std::vector<Rule> rules = read_rules();
  std::string name(model);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  Traits traits;
  for (const Rule& rule : rules) {
    if (::fnmatch(rule.pattern.c_str(), name.c_str(), 0) == 0) {
      traits.*rule.field = rule.value;
    }
  }
  return traits;
}

}  // namespace penstock
