// `penstock what-if`.
#include <algorithm>
#include <ostream>

#include "tools/penstock/command_options.h"
#include "tools/penstock/commands.h"
#include "tools/penstock/named_profile.h"
#include "tools/penstock/replace_file.h"
#include "tools/penstock/what_if_study.h"

namespace penstock {
namespace {

// Amounts in parse_amounts()'s form; nullopt: not requested.
struct WhatIfArguments {
  std::string profile;  // a path has a '/'; else a name
  std::optional<std::string> cores, cache, bandwidth, accelerator, ranks;
  bool json = false;
  std::string svg_file;  // "": none
  ExchangeArguments exchange;
  Site site;
};

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
                 "--svg: nothing to draw: no amount has more than one value, "
                 "or the profile does not have its effect"};
  }
  if (file != "-") return replace_file(file, study_svg(study));
  terminal.out << study_svg(study);
  return Done{};
}

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

void add_exchange(CLI::App* command, ExchangeArguments& it) {
  CLI::Option* density = add_density(command, it.density, it.costs_file);
  command
      ->add_option("--gpus", it.gpus,
                   "number of ranks that exchange, on all nodes")
      ->check(CLI::Range(1, 1000000))
      ->needs(density);
  command->add_option("--nodes", it.nodes, "number of nodes of these ranks")
      ->check(CLI::Range(1, 1000000))
      ->needs(density);
  command
      ->add_option("--interconnect", it.interconnect,
                   "bandwidth between these nodes, such as 1G")
      ->needs(density);
  command->add_option("--params", it.params_m, "parameters, in millions")
      ->check(CLI::Range(1e-6, 1e9))
      ->needs(density);
  command->add_option("--batch", it.batch, "samples per rank and step")
      ->check(CLI::Range(1.0, 1e9))
      ->needs(density);
}

}  // namespace

Run add_what_if(CLI::App* command) {
  auto it = std::make_shared<WhatIfArguments>();
  command
      ->add_option("PROFILE", it->profile,
                   "name of a profile, or path of a file (with a '/')")
      ->required();
  command->add_option("--cores", it->cores,
                      "cores of a rank: 1..24, 0.25..2:0.25, or 1,2,4; a "
                      "single value also applies to the other tables");
  command->add_option(
      "--cache", it->cache,
      "fraction of the bytes read that a cache serves: 0..100%");
  command->add_option("--bandwidth", it->bandwidth,
                      "storage bandwidth of a rank: 50M..400M");
  command->add_option(
      "--accelerator", it->accelerator,
      "speed of the accelerator relative to this one: 2x, or 1x..4x");
  command->add_option("--ranks", it->ranks,
                      "ranks that share the node's cores and bandwidth: 1..8");
  add_exchange(command, it->exchange);
  command->add_flag("--json", it->json, "print JSON");
  command
      ->add_option("--svg", it->svg_file,
                   "also write the curves as SVG to this file; -: write only "
                   "them, to standard output")
      ->check(has_text);
  add_site(command, it->site, false);
  return with_config(it, run_what_if);
}

}  // namespace penstock
