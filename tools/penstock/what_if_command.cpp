// `penstock what-if`.
#include <algorithm>
#include <ostream>

#include "tools/penstock/command.h"
#include "tools/penstock/named_profile.h"
#include "tools/penstock/replace_file.h"
#include "tools/penstock/what_if_study.h"

namespace penstock {
namespace {

Result<AskedAmounts> asked_amounts(const WhatIfArguments& arguments) {
  const struct {
    Axis axis;
    const char* option;
    const std::optional<std::string>& text;
  } options[] = {{Axis::kCores, "--cores", arguments.cores},
                 {Axis::kCache, "--cache", arguments.cache},
                 {Axis::kBandwidth, "--bandwidth", arguments.bandwidth},
                 {Axis::kAccelerator, "--accelerator", arguments.accelerator},
                 {Axis::kRanks, "--ranks", arguments.ranks}};
  AskedAmounts out;
  for (const auto& it : options) {
    if (!it.text) continue;
    Result<std::vector<double>> amounts = parse_amounts(it.axis, *it.text);
    if (!amounts) return std::move(amounts).error().wrap(it.option);
    out[static_cast<size_t>(it.axis)] = std::move(*amounts);
  }
  return out;
}

Status write_svg(const Study& study, const std::string& file,
                 Terminal& terminal) {
  const bool any =
      std::any_of(study.tables.begin(), study.tables.end(),
                  [](const StudyTable& it) { return !it.rows.empty(); });
  if (!any) {
    return Error{Code::kNotFound, 0,
                 "--svg: nothing to draw: no amount that is asked for has more "
                 "than one value, or the profile does not know what it does"};
  }
  if (file != "-") return replace_file(file, study_svg(study));
  terminal.out << study_svg(study);
  return Done{};
}

}  // namespace

Status run_what_if(const WhatIfArguments& arguments, const Config& config,
                   Terminal& terminal) {
  Result<AskedAmounts> asked = asked_amounts(arguments);
  if (!asked) return std::move(asked).error();
  Result<Profile> profile = find_profile(arguments.profile, config);
  if (!profile) return std::move(profile).error();
  Result<std::optional<AskedExchange>> exchange =
      asked_exchange(arguments.exchange, profile->job, profile->ranks_in_all());
  if (!exchange) return std::move(exchange).error();
  if (*exchange)
    (*asked)[static_cast<size_t>(Axis::kDensity)] = (*exchange)->named;
  Result<Study> study = study_of(*profile, *asked, *exchange);
  if (!study) return std::move(study).error();
  if (!arguments.svg_file.empty()) {
    Status written = write_svg(*study, arguments.svg_file, terminal);
    if (!written || arguments.svg_file == "-") return written;
  }
  terminal.out << (arguments.json ? study_json(*study)
                                  : study_text(*study, terminal.style));
  return Done{};
}

}  // namespace penstock
