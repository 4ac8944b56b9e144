// Results of an analysis. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predictor/profile.h"
#include "predictor/what_if.h"
#include "tools/analyze/plan.h"

namespace penstock {

// All rates are samples/s of the slowest rank.
struct CurvePoint {
  double cores = 0;
  VisitFigure rate;
  std::string limited_by;  // "quota", "affinity"; "": no more cores exist
};

struct RankFigures {
  uint32_t rank = 0;
  std::string node;
  std::optional<double> ceiling;  // medians
  std::optional<double> prep;     // on all its cores
  std::optional<double> fetch;
};

struct Findings {
  std::string source;  // "penstock-train", "python watch"
  uint32_t ranks = 1;
  double cpus = 1;  // per rank
  VisitFigure ceiling;
  std::vector<CurvePoint> prep;  // ascending
  std::optional<VisitFigure> fetch;
  std::optional<VisitFigure> training;  // from memory, on all cores
  double prep_per_core = 0;             // samples per CPU second; 0: unknown
  double trainer_cpu_s_per_sample = 0;
  double bytes_per_sample = 0;  // 0: unknown
  std::optional<double> fetch_bytes_per_s;
  bool fetch_is_at_least = false;  // the loader never waited for storage
  std::optional<double> memory_bytes_per_s;
  std::optional<double> cache_bytes;
  std::optional<double> dataset_bytes;
  std::optional<double> corner_ceiling, corner_storage;
  std::vector<RankFigures> by_rank;
  std::optional<uint32_t> slowest_rank;  // if one is slower by 5% or more
  std::optional<Bottleneck> bottleneck;  // of the job as it is, data not cached
  std::vector<std::string> notes;        // unknown figures with reasons; drift
  Profile profile;
};

// Errors: kNotFound  the ceiling was not measured, so there are no findings
[[nodiscard]] Result<Findings> make_findings(
    const std::string& name, const std::vector<AnalysisHello>& hellos,
    const AnalysisPlan& plan);

}  // namespace penstock
