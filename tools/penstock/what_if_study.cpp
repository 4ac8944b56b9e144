#include "tools/penstock/what_if_study.h"

#include <algorithm>
#include <cmath>

#include "common/units.h"

namespace penstock {
namespace {

constexpr int kCurveParts = 64;
constexpr double kSame = 1e-9;  // of amounts, relative
constexpr double kCoresShown = 8;
constexpr int kRanksShown = 8;
constexpr int kTableParts = 12;

Amounts with_amount(Axis axis, const Amounts& base, double amount) {
  Amounts out = base;
  switch (axis) {
    case Axis::kCores:
      out.cores = amount;
      break;
    case Axis::kCache:
      out.cached_share = amount;
      break;
    case Axis::kBandwidth:
      out.bandwidth_bytes_per_s = amount;
      break;
    case Axis::kAccelerator:
      out.accelerator_factor = amount;
      break;
    case Axis::kRanks:
      return shared_among(base, static_cast<int>(amount));
    case Axis::kDensity:
      out.density = amount;
      break;
  }
  return out;
}

Enough enough_of(Axis axis, const WhatIf& model, const Amounts& others) {
  switch (axis) {
    case Axis::kCores:
      return model.enough_cores(others);
    case Axis::kCache:
      return model.enough_cache(others);
    case Axis::kBandwidth:
      return model.enough_bandwidth(others);
    case Axis::kAccelerator:
      return model.most_accelerator(others);
    case Axis::kRanks:
      return model.most_ranks(others);
    case Axis::kDensity:
      return model.most_density(others);
  }
  return {};
}

// From one round step to one step beyond `most`.
std::vector<double> amounts_up_to(Axis axis, double most) {
  const double step = round_step(axis, most, kTableParts);
  std::vector<double> out;
  for (int i = 1; (i - 1) * step < most * (1 - kSame); ++i)
    out.push_back(i * step);
  return out;
}

std::vector<double> default_amounts(const StudyTable& table, int ranks) {
  const double enough =
      table.enough.kind == Enough::Kind::kAmount ? table.enough.amount : 0;
  const double most = std::max(2 * table.present.value_or(0), 1.25 * enough);
  switch (table.axis) {
    case Axis::kCores:
      return amounts_up_to(Axis::kCores, most > 0 ? most : kCoresShown);
    case Axis::kCache:
      return spread(Axis::kCache, 0, 1);
    case Axis::kBandwidth:
      if (most == 0) return {};
      return amounts_up_to(Axis::kBandwidth, most);
    case Axis::kAccelerator:
      return {1, 1.25, 1.5, 2, 3, 4};
    case Axis::kRanks:
      return spread(Axis::kRanks, 1, std::max(kRanksShown, 2 * ranks));
    case Axis::kDensity:  // a table needs a named density
      return {};
  }
  return {};
}

bool same(double a, double b) { return std::fabs(a - b) <= kSame * b; }

// Adds a row for the present amount if it lies between two others.
void add_present(double present, std::vector<double>& amounts) {
  const auto at =
      std::lower_bound(amounts.begin(), amounts.end(), present * (1 - kSame));
  if (at == amounts.end() || same(*at, present) || at == amounts.begin())
    return;
  amounts.insert(at, present);
}

class TableMaker {
 public:
  TableMaker(const WhatIf& model, const Amounts& base)
      : model_(model), base_(base) {}

  StudyTable table(Axis axis, std::vector<double> amounts) const {
    StudyTable out;
    out.axis = axis;
    out.present = amount_of(axis, model_.present());
    out.enough = enough_of(axis, model_, base_);
    if (out.enough.kind == Enough::Kind::kUnknown) {
      out.unknown = out.enough.why;
      return out;
    }
    if (amounts.empty()) amounts = default_amounts(out, base_.ranks);
    if (amounts.empty()) {
      out.unknown = "the profile has no fetch_bytes_per_s";
      return out;
    }
    if (out.present) add_present(*out.present, amounts);
    for (double amount : amounts) out.rows.push_back(row(out, amount));
    out.curve = axis == Axis::kRanks ? out.rows : curve(out);
    return out;
  }

 private:
  void set_demand(StudyRow& row) const {
    Amounts plenty = row.amounts;
    plenty.bandwidth_bytes_per_s.reset();
    row.cores = model_.enough_cores(plenty);
    plenty = row.amounts;
    plenty.cores.reset();
    row.bandwidth = model_.enough_bandwidth(plenty);
  }

  StudyRow row(const StudyTable& table, double amount) const {
    StudyRow out;
    out.amount = amount;
    out.amounts = with_amount(table.axis, base_, amount);
    out.point = model_.at(out.amounts);
    out.present = table.present && same(amount, *table.present);
    if (table.axis == Axis::kDensity) set_demand(out);
    return out;
  }

  std::vector<StudyRow> curve(const StudyTable& table) const {
    std::vector<StudyRow> out = table.rows;
    const double low = table.rows.front().amount;
    const double high = table.rows.back().amount;
    for (int i = 1; i < kCurveParts; ++i)
      out.push_back(row(table, low + (high - low) * i / kCurveParts));
    std::sort(out.begin(), out.end(), [](const StudyRow& a, const StudyRow& b) {
      return a.amount < b.amount;
    });
    return out;
  }

  const WhatIf& model_;
  const Amounts& base_;
};

// If two limits are close together, raising only one of them helps little.
bool none_alone_is_enough(const WhatIf& model, const Amounts& base) {
  const auto is_none = [](const Enough& it) {
    return it.kind == Enough::Kind::kNone;
  };
  return is_none(model.enough_cores(base)) &&
         is_none(model.enough_bandwidth(base));
}

std::vector<std::string> notes_of(const Profile& profile, const WhatIf& model,
                                  const Amounts& base) {
  std::vector<std::string> out;
  if (!model.prep_known())
    out.emplace_back(
        "What the loader does with its cores is not known: they limit nothing "
        "here.");
  else if (profile.rate_at_cores.empty())
    out.emplace_back(
        "The loader was not measured at several amounts of cores: its rate is "
        "taken as proportional to them.");
  if (model.prep_known() && !base.cores)
    out.emplace_back(
        "The cores that the job has are not known: elsewhere than in a table "
        "of them they limit nothing; --cores N sets them.");
  if (base.cached_share < 1 &&
      (!model.fetch_known() || !base.bandwidth_bytes_per_s))
    out.emplace_back(
        std::string("What storage supplies is not known: it limits nothing "
                    "here") +
        (model.fetch_known() ? "; --bandwidth RATE sets it." : "."));
  if (none_alone_is_enough(model, base))
    out.emplace_back(
        "No amount is enough alone: set one, as with --cores N, and see what "
        "the others have to be.");
  if (profile.trainer_cpu_s_per_sample == 0)
    out.emplace_back(
        "The CPU that the trainer uses is not known: all cores are taken as "
        "the loader's.");
  if (!model.corner_known())
    out.emplace_back(
        "How sharply one limit takes over from another was not measured: near "
        "there the rate will be lower than shown.");
  return out;
}

// Notes on the assumptions of the exchange's figures.
void add_exchange_notes(const AskedExchange& asked, const Profile& profile,
                        const WhatIf& model, std::vector<std::string>& out) {
  if (!asked.knows_costs) out.emplace_back(kOnlyLinkNote);
  const int64_t ranks = profile.ranks_in_all();
  if (ranks > 1 && !model.present().density)
    out.push_back("What the exchange between the " + std::to_string(ranks) +
                  " ranks that the profile was measured with took is counted "
                  "as computing.");
}

bool is_set(const std::vector<double>& amounts) { return amounts.size() == 1; }

}  // namespace

std::optional<double> amount_of(Axis axis, const Amounts& amounts) {
  switch (axis) {
    case Axis::kCores:
      return amounts.cores;
    case Axis::kCache:
      return amounts.cached_share;
    case Axis::kBandwidth:
      return amounts.bandwidth_bytes_per_s;
    case Axis::kAccelerator:
      return amounts.accelerator_factor;
    case Axis::kRanks:
      return amounts.ranks;
    case Axis::kDensity:
      return amounts.density;
  }
  return std::nullopt;
}

Result<Study> study_of(const Profile& profile, const AskedAmounts& asked,
                       const std::optional<AskedExchange>& exchange) {
  Result<WhatIf> model = WhatIf::from(profile);
  if (!model) return std::move(model).error();
  if (exchange) {
    Status set = model->set_exchange(exchange->exchange);
    if (!set) return std::move(set).error().wrap("--density");
  }
  Amounts base = model->present();
  const auto of = [&](Axis axis) -> const std::vector<double>& {
    return asked[static_cast<size_t>(axis)];
  };
  // Ranks first, because the other amounts are per rank.
  for (Axis axis : {Axis::kRanks, Axis::kCores, Axis::kCache, Axis::kBandwidth,
                    Axis::kAccelerator, Axis::kDensity})
    if (is_set(of(axis))) base = with_amount(axis, base, of(axis).front());
  const bool any_set = std::any_of(asked.begin(), asked.end(), is_set);
  const bool any_range = std::any_of(
      asked.begin(), asked.end(), [](const auto& it) { return it.size() > 1; });

  Study out;
  out.profile = profile;
  out.corner_known = model->corner_known();
  out.present.amounts = model->present();
  out.present.point = model->at(model->present());
  if (any_set) out.set = StudyRow{0, base, model->at(base), false};
  out.notes = notes_of(profile, *model, base);
  const TableMaker maker(*model, base);
  if (exchange) {
    out.exchange = exchange;
    add_exchange_notes(*exchange, profile, *model, out.notes);
    const bool asked_for = !any_range || of(Axis::kDensity).size() > 1;
    if (asked_for && exchange->densities.size() > 1)
      out.tables.push_back(maker.table(Axis::kDensity, exchange->densities));
  }
  for (Axis axis : kAxes)
    if (axis != Axis::kDensity &&
        (any_range ? of(axis).size() > 1 : of(axis).empty()))
      out.tables.push_back(maker.table(axis, of(axis)));
  return out;
}

}  // namespace penstock
