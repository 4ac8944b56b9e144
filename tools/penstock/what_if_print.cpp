// `penstock what-if` as text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/units.h"
#include "report/text.h"
#include "tools/penstock/what_if_study.h"

namespace penstock {
namespace {

const char* bottleneck_words(Bottleneck it) {
  switch (it) {
    case Bottleneck::kCompute:
      return "compute: data is no longer the bottleneck";
    case Bottleneck::kPrep:
      return "prep: the loader's cores are the bottleneck";
    case Bottleneck::kFetch:
      return "fetch: storage is the bottleneck";
  }
  return "";
}

std::string amounts_text(const Amounts& it, bool cache_known) {
  std::string out =
      it.cores ? named_amount(Axis::kCores, *it.cores) : "cores not known";
  out += cache_known
             ? ", " + amount_text(Axis::kCache, it.cached_share) + " cached, "
             : ", cache not known, ";
  out += it.bandwidth_bytes_per_s
             ? amount_text(Axis::kBandwidth, *it.bandwidth_bytes_per_s)
             : "bandwidth not known";
  if (it.accelerator_factor != 1)
    out += ", accelerator " +
           amount_text(Axis::kAccelerator, it.accelerator_factor);
  if (it.density)
    out += ", density " + amount_text(Axis::kDensity, *it.density);
  return out;
}

// Totals of all ranks of the node.
std::string node_text(const StudyRow& row) {
  const Amounts& it = row.amounts;
  std::string out = named_amount(Axis::kRanks, it.ranks) + ": ";
  if (it.cores) out += named_amount(Axis::kCores, *it.cores * it.ranks) + ", ";
  if (it.bandwidth_bytes_per_s)
    out += format_rate(*it.bandwidth_bytes_per_s * it.ranks) + ", ";
  return out + figure_text(row.point.samples_per_s.value * it.ranks) +
         " samples/s in all";
}

std::string interval_text(const Figure& it) {
  return fmt::format("[{} to {}]", figure_text(it.low), figure_text(it.high));
}

void add_point(const Study& study, const char* label, const StudyRow& row,
               Page& page) {
  const WhatIfPoint& point = row.point;
  const auto line = [&](const char* name, const std::string& text) {
    page.line(fmt::format("  {:<10} {}", name, text), 13);
  };
  line(label, amounts_text(row.amounts, study.cache_known()));
  line("", fmt::format("{} {} samples/s, {} of the ceiling of {}",
                       figure_text(point.samples_per_s.value),
                       interval_text(point.samples_per_s),
                       share_text(point.share_of_ceiling()),
                       figure_text(point.ceiling_samples_per_s)));
  line("", bottleneck_words(point.bottleneck));
  if (point.extrapolated)
    line("", "an extrapolation: more cores than were measured");
  if (point.trainer_cores > 0 && row.amounts.cores)
    line("", "the trainer uses " + figure_text(point.trainer_cores) +
                 " of the cores");
  if (row.amounts.ranks > 1) line("", node_text(row));
}

std::string second_column(const StudyTable& table, const StudyRow& row) {
  if (table.axis != Axis::kRanks) return interval_text(row.point.samples_per_s);
  return figure_text(row.point.samples_per_s.value * row.amounts.ranks);
}

std::string needed_text(Axis axis, const Enough& enough) {
  if (enough.kind == Enough::Kind::kUnknown) return "-";
  if (enough.kind == Enough::Kind::kNone) return "none";
  return axis == Axis::kCores ? fmt::format("{:.2f}", enough.amount)
                              : amount_text(axis, enough.amount);
}

// A density changes the ceiling, and so the loader's needs.
void add_density_rows(const StudyTable& table, Page& page) {
  page.line(fmt::format("  {:>7}  {:<9} {:>8} {:>8} {:>8} {:>9} {:>7} {:>11}",
                        "density", "how", "exchange", "stall", "ceiling",
                        "samples/s", "cores", "storage"));
  for (const StudyRow& row : table.rows) {
    const StepTimes& step = *row.point.step;
    page.line(fmt::format(
        "{} {:>7}  {:<9} {:>8} {:>8} {:>8} {:>9} {:>7} {:>11}",
        row.present ? '>' : ' ', amount_text(table.axis, row.amount),
        method_name(step), time_text(step.exchange_s),
        time_text(step.stall_s()), figure_text(row.point.ceiling_samples_per_s),
        figure_text(row.point.samples_per_s.value),
        needed_text(Axis::kCores, row.cores),
        needed_text(Axis::kBandwidth, row.bandwidth)));
  }
}

void add_rows(const StudyTable& table, Page& page) {
  page.line(fmt::format(
      "  {:>10}  {:>9} {:>20} {:>8}  {}",
      table.axis == Axis::kRanks ? "ranks" : "amount", "samples/s",
      table.axis == Axis::kRanks ? "of all ranks" : "", "ceiling", "limit"));
  double highest = 0;
  for (const StudyRow& row : table.rows)
    highest = std::max(highest, row.point.samples_per_s.value);
  for (const StudyRow& row : table.rows) {
    const WhatIfPoint& point = row.point;
    page.bar(
        fmt::format(
            "{} {:>10}{} {:>9} {:>20} {:>8}  {:<7}", row.present ? '>' : ' ',
            amount_text(table.axis, row.amount), point.extrapolated ? '*' : ' ',
            figure_text(point.samples_per_s.value), second_column(table, row),
            share_text(point.share_of_ceiling()),
            bottleneck_name(point.bottleneck)),
        point.samples_per_s.value / highest);
  }
}

// The bytes of the dataset that an enough share stands for.
std::string dataset_text(const Profile& profile, double share) {
  if (profile.dataset_bytes == 0) return "";
  std::string out =
      fmt::format(", {} of {}", format_bytes(share * profile.dataset_bytes),
                  format_bytes(profile.dataset_bytes));
  if (profile.cache_bytes > 0)
    out += fmt::format("; the page cache can have {}",
                       format_bytes(profile.cache_bytes));
  return out;
}

void add_legend(const Study& study, Page& page) {
  bool present = false;
  bool extrapolated = false;
  for (const StudyTable& table : study.tables)
    for (const StudyRow& row : table.rows) {
      present |= row.present;
      extrapolated |= row.point.extrapolated;
    }
  if (present || extrapolated) page.line("");
  if (present)
    page.line(study.set ? "> the amount that the profile was measured with"
                        : "> you are here: the profile's own amount",
              2);
  if (extrapolated)
    page.line("* more cores than were measured: an extrapolation", 2);
}

}  // namespace

std::string enough_text(const Study& study, const StudyTable& table) {
  const Enough& it = table.enough;
  const bool largest =
      table.axis == Axis::kAccelerator || table.axis == Axis::kRanks;
  if (table.axis == Axis::kDensity && it.kind == Enough::Kind::kNone)
    return "No density is low enough: " + it.why;
  if (it.kind == Enough::Kind::kNone)
    return std::string(largest ? "Data keeps up with none: "
                               : "No amount is enough: ") +
           it.why;
  const std::string amount = amount_text(table.axis, it.amount);
  switch (table.axis) {
    case Axis::kCores:
      // Rounded up, so that the displayed amount is enough.
      return "Enough: " +
             named_amount(Axis::kCores, std::ceil(it.amount * 100) / 100) +
             (it.extrapolated ? " (extrapolated)" : "");
    case Axis::kCache:
      return "Enough: " + amount + dataset_text(study.profile, it.amount);
    case Axis::kBandwidth:
      return "Enough: " + (it.amount > 0 ? amount : "none is needed");
    case Axis::kAccelerator:
      return "Fastest accelerator that data keeps up with: " + amount;
    case Axis::kRanks:
      return "Most ranks that data keeps up with: " + amount;
    case Axis::kDensity:
      return "Highest density with 97% of the ceiling without exchange: " +
             amount;
  }
  return "";
}

std::string study_text(const Study& study, const TextStyle& style) {
  Page page(style);
  page.line("What if: profile " + study.profile.name + ", for each rank", 4,
            Page::Tone::kHeading);
  add_point(study, "measured", study.present, page);
  if (study.set) add_point(study, "with", *study.set, page);
  for (const StudyTable& table : study.tables) {
    page.heading(words_of(table.axis).heading);
    if (table.rows.empty()) {
      page.line("  not known: " + table.unknown, 4);
      continue;
    }
    if (table.axis == Axis::kDensity) {
      page.line("  " + exchange_text(*study.exchange), 4);
      add_density_rows(table, page);
    } else {
      add_rows(table, page);
    }
    page.line("  " + enough_text(study, table), 4);
  }
  add_legend(study, page);
  page.line("");
  page.line(
      "Enough: the rate is 97% of the ceiling, so that data is no longer the "
      "bottleneck.");
  for (const std::string& note : study.notes) page.line(note, 2);
  return page.take();
}

}  // namespace penstock
