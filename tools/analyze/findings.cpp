#include "tools/analyze/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "predictor/corner.h"
#include "predictor/rate_curve.h"

namespace penstock {
namespace {

// Least share of the consumed bytes that must come from storage in a cold cell.
constexpr double kCold = 0.5;
constexpr double kSlowest = 0.05;
// A loader that keeps this share of its rate does not wait for storage.
constexpr double kUnhindered = 0.97;
constexpr int kCornerRounds = 30;

const CellKind* find(const AnalysisPlan& plan, CellRole role,
                     bool on_all_cores = false) {
  for (const CellKind& kind : plan.kinds()) {
    if (kind.role != role || kind.visits.empty()) continue;
    if (!on_all_cores || !kind.cell.cores) return &kind;
  }
  return nullptr;
}

bool is_network(const std::string& filesystem) {
  for (const char* name :
       {"nfs", "lustre", "gpfs", "beegfs", "ceph", "smb", "9p", "fuse"}) {
    if (filesystem == name) return true;
  }
  return false;
}

std::optional<double> median_of_rank(const CellKind* kind, uint32_t rank) {
  if (kind == nullptr) return std::nullopt;
  std::vector<double> rates;
  for (const Visit& visit : kind->visits) {
    const auto seen = visit.ranks.find(rank);
    if (seen != visit.ranks.end()) {
      rates.push_back(seen->second.samples_per_s());
    }
  }
  if (rates.empty()) return std::nullopt;
  return figure_of(rates).median;
}

class Maker {
 public:
  Maker(const std::vector<AnalysisHello>& hellos, const AnalysisPlan& plan)
      : hellos_(hellos), plan_(plan) {}

  Findings make(const std::string& name) {
    out_.source = hellos_[0].source;
    out_.ranks = hellos_[0].ranks;
    out_.cpus = plan_.facts().cpus;
    take_trainer();
    take_prep();
    take_data();
    take_corners();
    take_fetch();
    take_ranks();
    take_notes();
    fill_profile(name);
    if (auto model = WhatIf::from(out_.profile)) {
      Amounts amounts = model->present();
      amounts.cached_share = 0;
      out_.bottleneck = model->at(amounts).bottleneck;
    }
    return std::move(out_);
  }

 private:
  void take_trainer() {
    const CellKind* ceiling = find(plan_, CellRole::kCeiling);
    out_.ceiling = ceiling->rate();
    out_.trainer_cpu_s_per_sample = costs_of(*ceiling).cpu_s;
    if (const CellKind* train = find(plan_, CellRole::kTrain)) {
      out_.training = train->rate();
    }
  }

  void take_prep() {
    double most_cores = 0;
    for (const CellKind& kind : plan_.kinds()) {
      if (kind.role != CellRole::kPrep || kind.visits.empty()) continue;
      out_.prep.push_back({kind.cell.cores.value_or(out_.cpus), kind.rate(),
                           kind.visits[0].limits.cores_by});
      // Small quotas interrupt the loader more often, which costs CPU time. So
      // use the largest amount of cores.
      const double cpu_s = costs_of(kind).cpu_s;
      const double cores = out_.prep.back().cores;
      if (cpu_s > 0 && cores > most_cores) {
        most_cores = cores;
        out_.prep_per_core = 1 / cpu_s;
      }
      for (const Visit& visit : kind.visits) {
        const auto& told = visit.ranks.begin()->second.memory_bytes_per_s;
        if (told) out_.memory_bytes_per_s = told;
      }
    }
    std::sort(out_.prep.begin(), out_.prep.end(),
              [](const auto& a, const auto& b) { return a.cores < b.cores; });
  }

  void take_data() {
    const AnalysisHello& first = hellos_[0];
    out_.cache_bytes = first.cache_bytes;
    out_.dataset_bytes = first.dataset_bytes;
    if (const CellKind* cold = find(plan_, CellRole::kFetch)) {
      out_.bytes_per_sample = bytes_of_cold(costs_of(*cold));
    } else if (const CellKind* prep = find(plan_, CellRole::kPrep, true)) {
      out_.bytes_per_sample = costs_of(*prep).consumed_bytes;
    }
    // An epoch reads each sample once.
    if (!out_.dataset_bytes && first.dataset_samples &&
        out_.bytes_per_sample > 0) {
      out_.dataset_bytes =
          double(*first.dataset_samples) * out_.bytes_per_sample;
    }
  }

  RateCurve curve() const {
    RateCurve out;
    for (const CurvePoint& point : out_.prep) {
      out.push_back({point.cores, point.rate.median});
    }
    return out;
  }

  // The loader's rate on `cores` beside a trainer that consumes `rate`.
  double loader_rate(double cores, double rate) const {
    const double left = cores - out_.trainer_cpu_s_per_sample * rate;
    return rate_of_cores(curve(), std::max(0.0, left));
  }

  void take_corners() {
    if (out_.prep.empty()) return;
    std::vector<CornerPoint> points;
    for (const CellKind& kind : plan_.kinds()) {
      if (kind.visits.empty()) continue;
      if (kind.role != CellRole::kTrain &&
          kind.role != CellRole::kCeilingCorner) {
        continue;
      }
      const double rate = kind.rate().median;
      const double cores = kind.cell.cores.value_or(out_.cpus);
      points.push_back({out_.ceiling.median, loader_rate(cores, rate), rate});
    }
    if (auto fitted = fit_corner(points)) out_.corner_ceiling = *fitted;
    take_storage_corner();
  }

  // Storage's own rate and the exponent of the corner depend on each other,
  // because the cold loader on all cores is already below both limits. Iterate.
  void take_storage_corner() {
    const CellKind* cold = find(plan_, CellRole::kFetch);
    if (cold == nullptr) return;
    const double rate = cold->rate().median;
    const double prepared = out_.prep.back().rate.median;
    double alone = rate;
    for (int i = 0; i < kCornerRounds; ++i) {
      const auto fitted = fit_corner(storage_points(alone));
      if (!fitted) return;
      out_.corner_storage = *fitted;
      alone = beyond_corner(prepared, rate, *fitted);
    }
  }

  // alone: storage's own rate.
  std::vector<CornerPoint> storage_points(double alone) const {
    std::vector<CornerPoint> points;
    for (const CellKind& kind : plan_.kinds()) {
      if (kind.role != CellRole::kStorageCorner || kind.visits.empty())
        continue;
      const double cores = kind.cell.cores.value_or(out_.cpus);
      double storage = alone;
      if (kind.cell.bytes_per_s && out_.bytes_per_sample > 0) {
        storage =
            std::min(alone, *kind.cell.bytes_per_s / out_.bytes_per_sample);
      }
      points.push_back(
          {rate_of_cores(curve(), cores), storage, kind.rate().median});
    }
    return points;
  }

  void take_fetch() {
    const CellKind* cold = find(plan_, CellRole::kFetch);
    if (cold == nullptr) return;
    const SampleCosts costs = costs_of(*cold);
    const bool is_cold = is_network(hellos_[0].filesystem) ||
                         costs.read_bytes >= kCold * out_.bytes_per_sample;
    if (!is_cold) {
      out_.notes.push_back(fmt::format(
          "fetch is not known: of {:.3g} kB a sample only {:.3g} came from "
          "storage; the data cannot be taken out of the page cache ({})",
          out_.bytes_per_sample * 1e-3, costs.read_bytes * 1e-3,
          hellos_[0].filesystem.empty() ? "file system unknown"
                                        : hellos_[0].filesystem));
      return;
    }
    out_.fetch = cold->rate();
    const double rate = out_.fetch->median;
    if (out_.bytes_per_sample <= 0) return;
    double alone = rate;
    if (!out_.prep.empty()) {
      const double prepared = out_.prep.back().rate.median;
      out_.fetch_is_at_least = rate >= kUnhindered * prepared;
      if (!out_.fetch_is_at_least) {
        alone = beyond_corner(prepared, rate, storage_exponent());
      }
    }
    out_.fetch_bytes_per_s = alone * out_.bytes_per_sample;
  }

  // 1 is right for a loader that alternates between fetching and preparing. It
  // is the default if nothing better was measured.
  double storage_exponent() const { return out_.corner_storage.value_or(1); }

  void take_ranks() {
    const CellKind* ceiling = find(plan_, CellRole::kCeiling);
    const CellKind* prep = find(plan_, CellRole::kPrep, true);
    const CellKind* fetch =
        out_.fetch ? find(plan_, CellRole::kFetch) : nullptr;
    for (const AnalysisHello& hello : hellos_) {
      out_.by_rank.push_back({hello.rank, hello.node,
                              median_of_rank(ceiling, hello.rank),
                              median_of_rank(prep, hello.rank),
                              median_of_rank(fetch, hello.rank)});
    }
    if (out_.by_rank.size() < 2) return;
    // Compare the loaders' figures: the ceilings of synchronous ranks are
    // equal.
    const auto key = [](const RankFigures& it) {
      return std::min(it.prep.value_or(INFINITY), it.fetch.value_or(INFINITY));
    };
    const auto [low, high] = std::minmax_element(
        out_.by_rank.begin(), out_.by_rank.end(),
        [&](const auto& a, const auto& b) { return key(a) < key(b); });
    if (key(*low) < (1 - kSlowest) * key(*high)) out_.slowest_rank = low->rank;
  }

  void take_notes() {
    const AnalysisHello& first = hellos_[0];
    if (!first.why.empty()) out_.notes.push_back(first.why);
    if (is_network(first.filesystem)) {
      out_.notes.push_back(
          "the data are on " + first.filesystem +
          ": they were taken out of this node's cache, not out of the "
          "servers', and what came over the network is what was read");
    }
    for (double cores : plan_.left_out()) {
      out_.notes.push_back(
          fmt::format("not measured: prep on {:g} cores: a rank has {:g}",
                      cores, out_.cpus));
    }
    std::map<std::string, std::string> not_measured;  // by reason
    for (const CellKind& kind : plan_.kinds()) {
      if (kind.visits.empty()) {
        std::string& kinds =
            not_measured[kind.dropped.empty() ? "the time was up; give it a "
                                                "longer --budget"
                                              : kind.dropped];
        kinds += (kinds.empty() ? "" : ", ") + cell_text(kind);
      }
      if (has_drifted(kind.rates())) {
        const std::vector<double> rates = kind.rates();
        out_.notes.push_back(
            fmt::format("{} drifted from {:.4g} to {:.4g} samples/s during the "
                        "measurement: its median is unreliable; repeat the "
                        "analysis on a quiet machine, or for longer",
                        cell_text(kind), rates.front(), rates.back()));
      }
    }
    for (const auto& [why, kinds] : not_measured) {
      out_.notes.push_back(fmt::format("not measured: {}: {}", kinds, why));
    }
  }

  double widest_error() const {
    double widest = 0;
    const auto take = [&widest](const VisitFigure& figure) {
      if (figure.visits >= 3) {
        widest = std::max(widest, figure.relative_width() / 2);
      }
    };
    take(out_.ceiling);
    for (const CurvePoint& point : out_.prep) take(point.rate);
    return widest;
  }

  void fill_profile(const std::string& name) {
    Profile& profile = out_.profile;
    profile.name = name;
    profile.accelerator_s_per_sample = 1 / out_.ceiling.median;
    profile.trainer_cpu_s_per_sample = out_.trainer_cpu_s_per_sample;
    if (out_.prep_per_core > 0) {
      profile.loader_cpu_s_per_sample = 1 / out_.prep_per_core;
    }
    profile.bytes_per_sample = out_.bytes_per_sample;
    for (const CurvePoint& point : out_.prep) {
      profile.cores.push_back(point.cores);
      profile.rate_at_cores.push_back(point.rate.median);
    }
    // If the loader never waited for storage, its bandwidth is unknown.
    if (!out_.fetch_is_at_least) {
      profile.fetch_bytes_per_s = out_.fetch_bytes_per_s.value_or(0);
    }
    profile.memory_bytes_per_s = out_.memory_bytes_per_s.value_or(0);
    profile.dataset_bytes = out_.dataset_bytes.value_or(0);
    profile.dataset_samples = double(hellos_[0].dataset_samples.value_or(0));
    profile.cache_bytes = out_.cache_bytes.value_or(0);
    profile.loader_threads = int(hellos_[0].workers.value_or(0));
    profile.ranks = int(ranks_on_a_node());
    profile.corner_ceiling = out_.corner_ceiling.value_or(0);
    profile.corner_storage = storage_exponent();
    // The page cache keeps a data set that fits, unless reads bypass it. How
    // much it keeps of a larger set read in random order is unknown.
    if (hellos_[0].cold != "direct" && out_.dataset_bytes && out_.cache_bytes &&
        *out_.dataset_bytes <= *out_.cache_bytes) {
      profile.cached_share = 1;
    }
    // 3% is the aim, and what a good run reaches.
    profile.relative_error = std::clamp(widest_error(), 0.03, 0.9);
  }

  uint64_t ranks_on_a_node() const {
    return uint64_t(std::count_if(
        hellos_.begin(), hellos_.end(),
        [this](const auto& it) { return it.node == hellos_[0].node; }));
  }

  const std::vector<AnalysisHello>& hellos_;
  const AnalysisPlan& plan_;
  Findings out_;
};

}  // namespace

Result<Findings> make_findings(const std::string& name,
                               const std::vector<AnalysisHello>& hellos,
                               const AnalysisPlan& plan) {
  if (hellos.empty() || !find(plan, CellRole::kCeiling)) {
    return Error{Code::kNotFound, 0,
                 "the ceiling was not measured, so there is no conclusion; "
                 "give it a longer --budget"};
  }
  return Maker(hellos, plan).make(name);
}

}  // namespace penstock
