#include "tools/analyze/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "predictor/rate_curve.h"

namespace penstock {
namespace {

constexpr uint64_t kLeastSubsetBatches = 8;
// A restarting penstockd refuses once, or lifts the limit in the middle of a
// visit.
constexpr size_t kMostRefusals = 2;
constexpr double kSubset_s = 0.5;  // duration of one pass
constexpr double kLeastCores = 0.1;
// Smallest relative change of cores: closer to an end there is nothing to
// learn.
constexpr double kSameAmount = 0.03;
// Two limits whose rates differ by more than this factor have no measurable
// corner.
constexpr double kCornerReach = 2;

// A batch begun before the visit explains a smaller excess.
constexpr double kExceeded = 1.25;
// Whole blocks and readahead explain a smaller factor.
constexpr double kMapped = 4;

bool exceeds_limits(const AnalysisCell& cell, const RankVisit& seen) {
  const double cores = seen.cpu_s / seen.seconds();
  const double bytes_per_s = seen.consumed_bytes / seen.seconds();
  return (cell.cores && cores > kExceeded * *cell.cores) ||
         (cell.bytes_per_s && bytes_per_s > kExceeded * *cell.bytes_per_s);
}

double rounded(double cores) { return std::round(cores * 100) / 100; }

}  // namespace

std::vector<double> CellKind::rates() const {
  std::vector<double> out;
  for (const Visit& visit : visits) {
    double slowest = INFINITY;
    for (const auto& [rank, seen] : visit.ranks) {
      slowest = std::min(slowest, seen.samples_per_s());
    }
    out.push_back(slowest);
  }
  return out;
}

std::string cell_text(const CellKind& kind) {
  std::string limits;
  if (kind.cell.cores)
    limits += fmt::format(" on {:g} cores", *kind.cell.cores);
  if (kind.cell.bytes_per_s) {
    limits += fmt::format(" at {:.3g} MB/s", *kind.cell.bytes_per_s * 1e-6);
  }
  switch (kind.role) {
    case CellRole::kCeiling:
      return "ceiling";
    case CellRole::kPrep:
      return "prep" + limits;
    case CellRole::kFetch:
      return "fetch";
    case CellRole::kTrain:
      return "training from memory";
    case CellRole::kCeilingCorner:
      return "training from memory" + limits;
    case CellRole::kStorageCorner:
      return "fetch" + limits;
  }
  return "";
}

double cpus_of_local_rank(const std::vector<AnalysisHello>& hellos,
                          double machine_cpus) {
  return std::min(double(hellos[0].cpus), machine_cpus / double(hellos.size()));
}

std::vector<double> default_amounts(double cpus) {
  std::vector<double> out;
  for (double eighths : {1.0, 3.0, 5.0, 8.0}) {
    out.push_back(std::max(kLeastCores, rounded(cpus * eighths / 8)));
  }
  return out;
}

std::vector<double> whole_amounts(double cpus) {
  std::vector<double> out;
  for (double share : {0.25, 0.5, 0.75}) {
    const double cores = std::max(1.0, std::floor(cpus * share));
    if (cores < cpus && (out.empty() || out.back() < cores)) {
      out.push_back(cores);
    }
  }
  return out;
}

AnalysisPlan::AnalysisPlan(PlanFacts facts)
    : facts_(std::move(facts)),
      subset_samples_(kLeastSubsetBatches * facts_.batch_samples) {
  if (facts_.amounts.empty()) facts_.amounts = default_amounts(facts_.cpus);
  std::vector<double>& amounts = facts_.amounts;
  std::sort(amounts.begin(), amounts.end());
  // All cores are the job's real case: always measured, never exceeded.
  for (double it : amounts) {
    if (it > facts_.cpus) left_out_.push_back(it);
  }
  std::erase_if(amounts, [this](double it) { return it >= facts_.cpus; });
  amounts.push_back(facts_.cpus);
  amounts.erase(std::unique(amounts.begin(), amounts.end()), amounts.end());
  kinds_.push_back(make(CellRole::kCeiling, AnalysisFeed::kReplay, true));
  if (facts_.can_memory) {
    // All cores first, because that visit sizes the subset and reveals a slow
    // loader.
    std::for_each(amounts.rbegin(), amounts.rend(),
                  [this](double cores) { add_prep(cores); });
    kinds_.push_back(make(CellRole::kTrain, AnalysisFeed::kMemory, true));
  }
  if (facts_.can_cold) {
    kinds_.push_back(make(CellRole::kFetch, AnalysisFeed::kCold, false));
  }
}

CellKind AnalysisPlan::make(CellRole role, AnalysisFeed data,
                            bool train) const {
  CellKind kind;
  kind.role = role;
  kind.cell.data = data;
  kind.cell.train = train;
  kind.cell.subset_samples = subset_samples_;
  return kind;
}

void AnalysisPlan::add_prep(double cores) {
  for (const CellKind& kind : kinds_) {
    if (kind.role == CellRole::kPrep && kind.dropped.empty() &&
        kind.cell.cores.value_or(facts_.cpus) == cores) {
      return;
    }
  }
  kinds_.push_back(make(CellRole::kPrep, AnalysisFeed::kMemory, false));
  if (cores < facts_.cpus) kinds_.back().cell.cores = cores;
}

// For kPrep, the kind on all cores.
const CellKind* AnalysisPlan::find(CellRole role) const {
  for (const CellKind& kind : kinds_) {
    const bool is_part = role == CellRole::kPrep && kind.cell.cores;
    if (kind.role == role && !is_part && kind.dropped.empty() &&
        !kind.visits.empty()) {
      return &kind;
    }
  }
  return nullptr;
}

// By the curve measured so far; nullopt beyond its ends.
std::optional<double> AnalysisPlan::cores_that_prepare(double rate) const {
  RateCurve curve;
  for (const CellKind& kind : kinds_) {
    if (kind.role != CellRole::kPrep || kind.visits.empty()) continue;
    if (!kind.dropped.empty()) continue;
    curve.push_back(
        {kind.cell.cores.value_or(facts_.cpus), kind.rate().median});
  }
  if (curve.empty()) return std::nullopt;
  std::sort(curve.begin(), curve.end(),
            [](const auto& a, const auto& b) { return a.cores < b.cores; });
  const double cores = rounded(cores_for_rate(curve, rate));
  if (cores < kLeastCores || cores > facts_.cpus * (1 - kSameAmount)) {
    return std::nullopt;
  }
  return cores;
}

// Cores at which preparing and training take about the same time. The trainer's
// own CPU use is added to the loader's.
void AnalysisPlan::add_ceiling_corner() {
  const CellKind* ceiling = find(CellRole::kCeiling);
  if (has_ceiling_corner_ || !ceiling || !find(CellRole::kPrep)) return;
  const double rate = ceiling->rate().median;
  const auto loader = cores_that_prepare(rate);
  if (!loader) return;
  const double cores = settable(*loader + costs_of(*ceiling).cpu_s * rate);
  if (cores > facts_.cpus * (1 - kSameAmount)) return;
  has_ceiling_corner_ = true;
  kinds_.push_back(make(CellRole::kCeilingCorner, AnalysisFeed::kMemory, true));
  kinds_.back().cell.cores = cores;
}

// Limits the faster of the two to the rate of the slower.
void AnalysisPlan::add_storage_corner() {
  const CellKind* prep = find(CellRole::kPrep);
  const CellKind* fetch = find(CellRole::kFetch);
  if (has_storage_corner_ || !prep || !fetch) return;
  const double prepared = prep->rate().median;
  const double fetched = fetch->rate().median;
  const double bytes = bytes_of_cold(costs_of(*fetch));
  if (fetched * kCornerReach < prepared) {
    const auto cores = cores_that_prepare(fetched);
    if (!cores || settable(*cores) > facts_.cpus * (1 - kSameAmount)) return;
    has_storage_corner_ = true;
    kinds_.push_back(
        make(CellRole::kStorageCorner, AnalysisFeed::kCold, false));
    kinds_.back().cell.cores = settable(*cores);
  } else if (bytes > 0) {
    has_storage_corner_ = true;
    for (double share : {1.0, 0.7}) {
      kinds_.push_back(
          make(CellRole::kStorageCorner, AnalysisFeed::kCold, false));
      kinds_.back().cell.bytes_per_s =
          std::max(1.0, std::round(share * fetched * bytes));
    }
  }
}

// More than a few batches, but one pass is short.
void AnalysisPlan::size_subset() {
  const CellKind* prep = find(CellRole::kPrep);
  if (prep == nullptr) return;
  const auto batches =
      uint64_t(prep->rate().median * kSubset_s / double(facts_.batch_samples));
  subset_samples_ =
      std::max(batches, kLeastSubsetBatches) * facts_.batch_samples;
  for (CellKind& kind : kinds_) kind.cell.subset_samples = subset_samples_;
}

void AnalysisPlan::begin_round() {
  if (rounds_ == 1) size_subset();
  if (rounds_ == corners_after_) {
    add_ceiling_corner();
    add_storage_corner();
  }
  for (size_t i = 0; i < kinds_.size(); ++i) {
    const CellKind& kind = kinds_[i];
    if (!kind.dropped.empty()) continue;
    if (kind.rate().relative_width() < facts_.narrow) continue;
    rounds_ % 2 == 0 ? round_.push_back(i) : round_.push_front(i);
  }
  ++rounds_;
}

std::optional<size_t> AnalysisPlan::next() {
  if (round_.empty()) begin_round();
  if (round_.empty()) return std::nullopt;
  const size_t kind = round_.front();
  round_.pop_front();
  return kind;
}

void AnalysisPlan::drop(size_t number, std::string why) {
  kinds_[number].dropped = std::move(why);
}

bool AnalysisPlan::refuse(size_t number, std::string why) {
  if (++kinds_[number].refusals < kMostRefusals) return false;
  drop(number, std::move(why));
  return true;
}

void AnalysisPlan::drop_unkept(size_t number, std::string why) {
  if (!refuse(number, std::move(why))) return;
  const CellRole role = kinds_[number].role;
  const double cores = kinds_[number].cell.cores.value_or(0);
  if (cores == std::floor(cores)) return;
  // Fractions of a CPU were refused. Retry with whole CPUs, corners included
  // once those are measured.
  if (role == CellRole::kCeilingCorner) has_ceiling_corner_ = false;
  if (role == CellRole::kStorageCorner) has_storage_corner_ = false;
  corners_after_ = rounds_ + 1;
  if (role != CellRole::kPrep || has_whole_amounts_) return;
  has_whole_amounts_ = true;
  for (double whole : whole_amounts(facts_.cpus)) add_prep(whole);
}

// Rounds to an amount that a cell can be limited to.
double AnalysisPlan::settable(double cores) const {
  return has_whole_amounts_ ? std::max(1.0, std::round(cores)) : rounded(cores);
}

void AnalysisPlan::add(size_t number, Visit visit) {
  const AnalysisCell& cell = kinds_[number].cell;
  const bool is_held =
      (!cell.cores || !visit.limits.cores_by.empty()) &&
      (!cell.bytes_per_s || !visit.limits.bytes_per_s_by.empty());
  if (!is_held) {
    return drop_unkept(number, visit.limits.why.empty()
                                   ? "the limit cannot be kept"
                                   : visit.limits.why);
  }
  for (const auto& [rank, seen] : visit.ranks) {
    if (!exceeds_limits(cell, seen)) continue;
    refuse(number, "the processes that reported the limit did not keep it");
    return;
  }
  kinds_[number].visits.push_back(std::move(visit));
}

double AnalysisPlan::widest() const {
  double widest = 0;
  for (const CellKind& kind : kinds_) {
    if (kind.dropped.empty()) {
      widest = std::max(widest, kind.rate().relative_width());
    }
  }
  return widest;
}

SampleCosts costs_of(const CellKind& kind) {
  SampleCosts sum;
  double samples = 0;
  for (const Visit& visit : kind.visits) {
    for (const auto& [rank, seen] : visit.ranks) {
      samples += seen.samples;
      sum.cpu_s += seen.cpu_s;
      sum.read_bytes += seen.read_bytes;
      sum.consumed_bytes += seen.consumed_bytes;
    }
  }
  if (samples <= 0) return {};
  return {sum.cpu_s / samples, sum.read_bytes / samples,
          sum.consumed_bytes / samples};
}

double bytes_of_cold(const SampleCosts& costs) {
  return costs.read_bytes > kMapped * costs.consumed_bytes
             ? costs.read_bytes
             : costs.consumed_bytes;
}

}  // namespace penstock
