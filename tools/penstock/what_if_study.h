// What `penstock what-if` shows: a table for each kind of amount, at what the
// profile was measured with or what the user set. Pure.
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
  bool present = false;  // the amount that the profile was measured with
  // Of a density: what of each is enough if the other limits nothing.
  Enough cores, bandwidth;
};

struct StudyTable {
  Axis axis = Axis::kCores;
  std::string unknown;          // why there are no rows; "": there are
  std::vector<StudyRow> rows;   // amounts ascend
  std::vector<StudyRow> curve;  // the same and many between; ranks: the same
  std::optional<double> present;
  Enough enough;  // of cores, cache and bandwidth the smallest; of accelerator
                  // and ranks the largest, of density the highest
};

struct Study {
  Profile profile;
  bool corner_known = false;
  StudyRow present;             // `amount` has no meaning here
  std::optional<StudyRow> set;  // with what the user set
  std::vector<StudyTable> tables;
  std::optional<AskedExchange> exchange;  // where a density is asked about
  std::vector<std::string> notes;         // what the figures assume

  const StudyRow& base() const { return set ? *set : present; }
  // A profile that knows no bytes has no cached share, either.
  bool cache_known() const {
    return profile.bytes_per_sample > 0 || base().amounts.cached_share > 0;
  }
};

// By axis; an empty list is not asked for. One amount is set for all tables.
// Several make a table of their own; where no axis has several, each axis that
// is not set has a table with amounts around the present one. Of a set number
// of ranks each has its part of the present amounts, or the cores and the
// bandwidth that are set for each. A density has its table also where it is
// set, beside that of a dense exchange.
using AskedAmounts = std::array<std::vector<double>, std::size(kAxes)>;

// exchange: nullopt where no density is asked about.
// Errors: WhatIf's
[[nodiscard]] Result<Study> study_of(
    const Profile& profile, const AskedAmounts& asked,
    const std::optional<AskedExchange>& exchange = std::nullopt);

// The amount of an axis; nullopt: not known.
std::optional<double> amount_of(Axis axis, const Amounts& amounts);

// "Enough: 2.6 cores", with why there is none.
std::string enough_text(const Study& study, const StudyTable& table);

// The table as text for a terminal of style.width columns, ending in a newline.
std::string study_text(const Study& study, const TextStyle& style);

// The same as JSON, with a final newline: docs/man/penstock-what-if.1 lists it.
std::string study_json(const Study& study);

// One picture with a panel for each table that has rows.
// REQUIRES: there is one.
std::string study_svg(const Study& study);

}  // namespace penstock
