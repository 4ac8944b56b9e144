// The content of `penstock what-if`: one table per axis, based on the profile's
// present amounts or on the amounts set by the user. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "predictor/what_if.h"
#include "report/render.h"
#include "tools/penstock/asked_exchange.h"
#include "tools/penstock/what_if_amounts.h"

namespace penstock {

struct StudyRow {
  double amount = 0;
  Amounts amounts;
  WhatIfPoint point;
  bool present = false;  // the profile's own amount
  // For a density: enough of each, if the other limits nothing.
  Enough cores, bandwidth;
};

struct StudyTable {
  Axis axis = Axis::kCores;
  std::string unknown;          // why there are no rows; "": there are rows
  std::vector<StudyRow> rows;   // amounts ascend
  std::vector<StudyRow> curve;  // the rows and many points between; ranks: the
                                // rows only
  std::optional<double> present;
  Enough enough;  // cores, cache, bandwidth: the smallest enough amount;
                  // accelerator, ranks, density: the largest
};

struct Study {
  Profile profile;
  bool corner_known = false;
  StudyRow present;             // `amount` is unused
  std::optional<StudyRow> set;  // with the amounts set by the user
  std::vector<StudyTable> tables;
  std::optional<AskedExchange> exchange;  // if a density is requested
  std::vector<std::string> notes;         // assumptions of the figures

  const StudyRow& base() const { return set ? *set : present; }
  // A profile without bytes has no cached share either.
  bool cache_known() const {
    return profile.bytes_per_sample > 0 || base().amounts.cached_share > 0;
  }
};

// By axis; an empty list: not requested. A single amount is set for all tables.
// Several amounts make a table of their own. If no axis has several, each axis
// that is not set gets a table around its present amount. A density gets its
// table even if it is set, next to the dense exchange.
//
// With a set number of ranks, each rank has its part of the present amounts.
// Cores and bandwidth that are set are per rank.
using AskedAmounts = std::array<std::vector<double>, std::size(kAxes)>;

// exchange: nullopt if no density is requested.
// Errors: WhatIf's
[[nodiscard]] Result<Study> study_of(
    const Profile& profile, const AskedAmounts& asked,
    const std::optional<AskedExchange>& exchange = std::nullopt);

// The amount on an axis; nullopt: unknown.
std::optional<double> amount_of(Axis axis, const Amounts& amounts);

// "Enough: 2.6 cores", or the reason why no amount is enough.
std::string enough_text(const Study& study, const StudyTable& table);

// The table as text for a terminal of style.width columns, ending in a newline.
std::string study_text(const Study& study, const TextStyle& style);

// The study as JSON with a final newline; docs/man/penstock-what-if.1 lists it.
std::string study_json(const Study& study);

// One picture with one panel per table that has rows.
// REQUIRES: there is such a table.
std::string study_svg(const Study& study);

}  // namespace penstock
