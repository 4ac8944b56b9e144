#include "tools/analyze/render.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "common/units.h"
#include "report/text.h"
#include "tools/penstock/json_text.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

std::string interval_text(const VisitFigure& figure) {
  if (figure.visits < 2) return "-";
  return fmt::format("{} to {}", figure_text(figure.low),
                     figure_text(figure.high));
}

void figure_row(const std::string& label, const VisitFigure& figure,
                Page& page) {
  page.line(fmt::format("  {:<34}{:>12}   {:<20}{:>6}", label,
                        figure_text(figure.median), interval_text(figure),
                        figure.visits));
}

std::string limited_text(const CurvePoint& point) {
  return fmt::format(
      "prep on {:g} core{}{}", point.cores, point.cores == 1 ? "" : "s",
      point.limited_by.empty() ? "" : " (" + point.limited_by + ")");
}

void render_rates(const Findings& it, Page& page) {
  page.heading(fmt::format("{:<36}{:>12}   {:<20}{:>6}", "Samples/s", "median",
                           "95% interval", "visits"));
  figure_row("ceiling: one batch replayed", it.ceiling, page);
  for (const CurvePoint& point : it.prep) {
    figure_row(limited_text(point), point.rate, page);
  }
  if (it.fetch) figure_row("fetch: cold data", *it.fetch, page);
  if (it.training) figure_row("training, data in memory", *it.training, page);
}

void fact(const char* label, const std::string& text, Page& page) {
  page.line(fmt::format("  {:<34}{}", label, text), 36);
}

std::string bytes_text(const std::optional<double>& bytes) {
  return bytes ? format_bytes(*bytes) : "-";
}

std::string corner_text(const std::optional<double>& exponent,
                        const char* otherwise) {
  return exponent ? fmt::format("exponent {:.3g}", *exponent)
                  : std::string("not measured: ") + otherwise;
}

void render_facts(const Findings& it, Page& page) {
  page.heading("Per sample and rank");
  if (it.prep_per_core > 0) {
    fact("prep rate per core",
         fmt::format("{} samples/s ({:.3g} ms of CPU a sample)",
                     figure_text(it.prep_per_core), 1e3 / it.prep_per_core),
         page);
  }
  fact("trainer's own CPU",
       fmt::format("{:.3g} ms a sample", it.trainer_cpu_s_per_sample * 1e3),
       page);
  fact("bytes",
       it.bytes_per_sample > 0 ? format_bytes(it.bytes_per_sample) : "-", page);
  page.heading("Storage and memory");
  fact("fetch bandwidth",
       it.fetch_bytes_per_s ? (it.fetch_is_at_least ? "at least " : "") +
                                  format_rate(*it.fetch_bytes_per_s)
                            : "-",
       page);
  fact("memory rate", rate_text(it.memory_bytes_per_s), page);
  fact("data set", bytes_text(it.dataset_bytes), page);
  fact("page cache that it may have", bytes_text(it.cache_bytes), page);
  page.heading("Smooth corners");
  fact("ceiling and loader", corner_text(it.corner_ceiling, "taken as sharp"),
       page);
  fact("prep and fetch",
       corner_text(it.corner_storage,
                   "taken as 1, fetching and preparing by turns"),
       page);
}

void render_ranks(const Findings& it, Page& page) {
  if (it.by_rank.size() < 2) return;
  page.heading(fmt::format("{:<8}{:<24}{:>14}{:>14}{:>14}", "Rank", "node",
                           "ceiling", "prep", "fetch"));
  for (const RankFigures& rank : it.by_rank) {
    page.line(fmt::format("  {:<6}{:<24}{:>14}{:>14}{:>14}", rank.rank,
                          rank.node, figure_text(rank.ceiling),
                          figure_text(rank.prep), figure_text(rank.fetch)));
  }
  if (it.slowest_rank) {
    page.line(fmt::format("  rank {} is the slowest, and all move at its rate",
                          *it.slowest_rank));
  }
}

std::string bottleneck_text(const Findings& it) {
  if (!it.bottleneck) return "Bottleneck: not known";
  switch (*it.bottleneck) {
    case Bottleneck::kCompute:
      return "Bottleneck: compute; data keep up with the ceiling";
    case Bottleneck::kPrep:
      return "Bottleneck: prep; more loader cores would help";
    case Bottleneck::kFetch:
      return "Bottleneck: fetch; more storage bandwidth or cache would help";
  }
  return "";
}

std::string ending_text(const AnalysisEnding& ending) {
  const std::string took = duration_text(ending.seconds);
  if (ending.narrow) {
    return fmt::format("Measured for {}: every interval is narrower than {:g}%",
                       took, ending.aim * 100);
  }
  if (std::isfinite(ending.widest)) {
    return fmt::format(
        "Measured for {}, until the time was up: the widest interval has "
        "{:.0f}%, aimed at were {:g}%",
        took, ending.widest * 100, ending.aim * 100);
  }
  return fmt::format(
      "Measured for {}, until the time was up: some figures were seen less "
      "than three times; give it a longer --budget",
      took);
}

Json json_of(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}

Json json_of(const VisitFigure& figure) {
  return {{"value", figure.median},
          {"low", figure.low},
          {"high", figure.high},
          {"visits", figure.visits}};
}

Json json_of(const std::optional<VisitFigure>& figure) {
  return figure ? json_of(*figure) : Json();
}

Json curve_json(const Findings& it) {
  Json out = Json::array();
  for (const CurvePoint& point : it.prep) {
    Json entry = json_of(point.rate);
    entry["cores"] = point.cores;
    entry["limited_by"] = point.limited_by;
    out.push_back(std::move(entry));
  }
  return out;
}

Json ranks_json(const Findings& it) {
  Json out = Json::array();
  for (const RankFigures& rank : it.by_rank) {
    out.push_back({{"rank", rank.rank},
                   {"node", rank.node},
                   {"ceiling", json_of(rank.ceiling)},
                   {"prep", json_of(rank.prep)},
                   {"fetch", json_of(rank.fetch)}});
  }
  return out;
}

}  // namespace

std::string render_text(const Findings& it, const AnalysisEnding& ending,
                        const TextStyle& style) {
  Page page(style);
  page.line(
      fmt::format("Data-stall profile of \"{}\": {}, {} rank{}, {:g} "
                  "CPU{} each",
                  it.profile.name, it.source, it.ranks,
                  it.ranks == 1 ? "" : "s", it.cpus, it.cpus == 1 ? "" : "s"),
      4, Page::Tone::kHeading);
  const bool keeps_up = it.bottleneck == Bottleneck::kCompute;
  page.line(bottleneck_text(it), 4,
            keeps_up ? Page::Tone::kGood : Page::Tone::kBad);
  render_rates(it, page);
  render_facts(it, page);
  render_ranks(it, page);
  page.line("");
  for (const std::string& note : it.notes) {
    page.line("Note: " + note, 6, Page::Tone::kWarning);
  }
  if (!ending.emulated.empty()) page.line("Note: " + ending.emulated, 6);
  page.line(ending_text(ending));
  return page.take();
}

std::string to_json(const Findings& it, const AnalysisEnding& ending) {
  Json notes = it.notes;
  if (!ending.emulated.empty()) notes.push_back(ending.emulated);
  const Json out = {
      {"schema_version", 1},
      {"kind", "analysis"},
      {"name", it.profile.name},
      {"source", it.source},
      {"ranks", it.ranks},
      {"cpus", it.cpus},
      {"ceiling", json_of(it.ceiling)},
      {"prep", curve_json(it)},
      {"fetch", json_of(it.fetch)},
      {"training", json_of(it.training)},
      {"prep_per_core", it.prep_per_core > 0 ? Json(it.prep_per_core) : Json()},
      {"trainer_cpu_s_per_sample", it.trainer_cpu_s_per_sample},
      {"bytes_per_sample",
       it.bytes_per_sample > 0 ? Json(it.bytes_per_sample) : Json()},
      {"fetch_bytes_per_s", json_of(it.fetch_bytes_per_s)},
      {"fetch_is_at_least", it.fetch_is_at_least},
      {"memory_bytes_per_s", json_of(it.memory_bytes_per_s)},
      {"cache_bytes", json_of(it.cache_bytes)},
      {"dataset_bytes", json_of(it.dataset_bytes)},
      {"corner_ceiling", json_of(it.corner_ceiling)},
      {"corner_storage", json_of(it.corner_storage)},
      {"by_rank", ranks_json(it)},
      {"slowest_rank", it.slowest_rank ? Json(*it.slowest_rank) : Json()},
      {"bottleneck",
       it.bottleneck ? Json(bottleneck_name(*it.bottleneck)) : Json()},
      {"seconds", ending.seconds},
      {"narrow", ending.narrow},
      {"widest", json_of(ending.widest)},
      {"notes", notes}};
  return json_text(out);
}

}  // namespace penstock
