#include "predictor/arrival_parameters.h"

#include <charconv>
#include <cmath>

#include "common/units.h"
#include "predictor/csv_table.h"
#include "predictor/data.h"
#include "predictor/exchange.h"

namespace penstock {
namespace {

constexpr double kMostValue = 100;
constexpr double kLeastEffect = 0.01;

std::string four_decimals(double value) {
  char text[32];
  const double rounded = std::round(value * 1e4) / 1e4 + 0.0;
  const auto end = std::to_chars(text, text + sizeof text, rounded,
                                 std::chars_format::fixed, 4);
  return std::string(text, end.ptr);
}

struct Part {
  const char* name;
  LogSumParameters ArrivalParameters::*learned;
  const LogSumForm& (*form)();
};
constexpr Part kParts[] = {
    {"roofline", &ArrivalParameters::roofline, roofline_form},
    {"one_node", &ArrivalParameters::one_node, exchange_form},
    {"many_nodes", &ArrivalParameters::many_nodes, exchange_form},
};

// A name with ':' ("family:vgg") is an effect, any other a coefficient.
Status set_learned(const LogSumForm& form, const std::string& name,
                   double value, LogSumParameters& learned) {
  if (name.find(':') != name.npos) {
    if (!learned.effects.emplace(name, value).second) {
      return invalid(quoted(name) + " is there twice");
    }
    return Done{};
  }
  for (size_t i = 0; i < form.coefficients.size(); ++i) {
    if (name != form.coefficients[i].name) continue;
    if (!std::isnan(learned.coefficients[i])) {
      return invalid(quoted(name) + " is there twice");
    }
    learned.coefficients[i] = value;
    return Done{};
  }
  return invalid(quoted(name) +
                 " is not a coefficient of this version; calibrate again");
}

Status set_interval(const std::string& name, double value,
                    std::map<std::string, LogInterval>& intervals) {
  const size_t slash = name.rfind('/');
  const std::string end = slash == name.npos ? "" : name.substr(slash + 1);
  if (end != "low" && end != "high") {
    return invalid(quoted(name) + " must end in /low or /high");
  }
  LogInterval nothing{NAN, NAN};
  LogInterval& it =
      intervals.try_emplace(name.substr(0, slash), nothing).first->second;
  double& at = end == "low" ? it.low : it.high;
  if (!std::isnan(at)) return invalid(quoted(name) + " is there twice");
  at = value;
  return Done{};
}

Status set_row(const CsvTable& table, size_t row, ArrivalParameters& out) {
  const std::string& part = table.text(row, "part");
  const std::string& name = table.text(row, "name");
  Result<double> value =
      table.number(row, "value", -kMostValue, kMostValue, NAN);
  if (!value) return std::move(value).error();
  if (std::isnan(*value)) return table.error(row, "value: empty");
  Status status =
      invalid("part " + quoted(part) +
              " must be roofline, one_node, many_nodes or interval");
  for (const Part& it : kParts) {
    if (part == it.name) {
      status = set_learned(it.form(), name, *value, out.*it.learned);
    }
  }
  if (part == "interval") status = set_interval(name, *value, out.intervals);
  if (!status) return table.error(row, status.error().message);
  return Done{};
}

Status check_complete(const ArrivalParameters& parameters) {
  for (const Part& part : kParts) {
    const LogSumForm& form = part.form();
    const LogSumParameters& learned = parameters.*part.learned;
    for (size_t i = 0; i < form.coefficients.size(); ++i) {
      if (std::isnan(learned.coefficients[i])) {
        return invalid(std::string(part.name) + " misses " +
                       form.coefficients[i].name + "; calibrate again");
      }
    }
  }
  for (const auto& [name, it] : parameters.intervals) {
    if (std::isnan(it.low) || std::isnan(it.high) || it.low > it.high) {
      return invalid("interval " + quoted(name) +
                     " needs a low and a high end, in that order");
    }
  }
  return Done{};
}

}  // namespace

std::string write_parameters(const ArrivalParameters& parameters) {
  std::string out =
      "# Made by penstock predict --calibrate; docs/model.md says what each "
      "is.\npart,name,value\n";
  for (const Part& part : kParts) {
    const LogSumForm& form = part.form();
    const LogSumParameters& learned = parameters.*part.learned;
    for (size_t i = 0; i < form.coefficients.size(); ++i) {
      out += csv_line({part.name, form.coefficients[i].name,
                       four_decimals(learned.coefficients[i])});
    }
    for (const auto& [level, value] : learned.effects) {
      // Omit negligible effects of models. Effects of families and GPU types
      // stay, because they also mark these as known (kind_of()).
      if (level.starts_with("model:") && std::abs(value) < kLeastEffect) {
        continue;
      }
      out += csv_line({part.name, level, four_decimals(value)});
    }
  }
  for (const auto& [name, it] : parameters.intervals) {
    out += csv_line({"interval", name + "/low", four_decimals(it.low)});
    out += csv_line({"interval", name + "/high", four_decimals(it.high)});
  }
  return out;
}

Result<ArrivalParameters> parse_parameters(std::string_view text,
                                           const std::string& name) {
  Result<CsvTable> table = CsvTable::parse(text, name);
  if (!table) return std::move(table).error();
  if (Status status = table->require({"part", "name", "value"}); !status) {
    return std::move(status).error();
  }
  ArrivalParameters out;
  for (const Part& part : kParts) {
    (out.*part.learned)
        .coefficients.assign(part.form().coefficients.size(), NAN);
  }
  for (size_t i = 0; i < table->rows(); ++i) {
    if (Status status = set_row(*table, i, out); !status) {
      return std::move(status).error();
    }
  }
  if (Status status = check_complete(out); !status) {
    return std::move(status).error().wrap(name);
  }
  return out;
}

const Result<ArrivalParameters>& builtin_parameters() {
  static const Result<ArrivalParameters> parameters =
      parse_parameters(data::kParameters, "the built-in parameters");
  return parameters;
}

}  // namespace penstock
