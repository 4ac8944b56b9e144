#include "predictor/coefficients.h"

#include <algorithm>
#include <sstream>

#include "predictor/csv_table.h"
#include "predictor/data.h"

namespace penstock {

std::vector<Coefficient> coefficients_of(
    std::string_view form, const std::vector<std::string>& terms) {
  std::vector<Coefficient> out;
  Result<CsvTable> table =
      CsvTable::parse(data::kCoefficients, "coefficients.csv");
  if (!table) return out;
  for (size_t i = 0; i < table->rows(); ++i) {
    const std::string& name = table->text(i, "coefficient");
    const auto term =
        std::find(terms.begin(), terms.end(), name.substr(0, name.find('.')));
    if (table->text(i, "form") != form || term == terms.end()) continue;
    Coefficient it{name, static_cast<int>(term - terms.begin()),
                   table->number(i, "mean", -100, 100, 0).value_or(0),
                   table->number(i, "sd", 0, 100, 0).value_or(0)};
    std::istringstream facts(table->text(i, "facts"));
    for (std::string fact; facts >> fact;) it.facts.push_back(fact);
    out.push_back(std::move(it));
  }
  return out;
}

std::vector<double> features_of(const LogSumForm& form, const Facts& facts) {
  std::vector<double> out;
  for (const Coefficient& it : form.coefficients) {
    double feature = 1;
    for (const std::string& fact : it.facts) {
      const auto found = facts.find(fact);
      feature *= found == facts.end() ? 0 : found->second;
    }
    out.push_back(feature);
  }
  return out;
}

}  // namespace penstock
