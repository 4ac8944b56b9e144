// Which cell comes next, and when enough has been measured. Pure.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "common/analysis_messages.h"
#include "tools/analyze/visit.h"

namespace penstock {

// What a cell is measured for.
enum class CellRole {
  kCeiling,        // no data: the trainer alone
  kPrep,           // the loader alone, data in memory, on an amount of cores
  kFetch,          // the loader alone, cold data
  kTrain,          // both, data in memory
  kCeilingCorner,  // both, on cores that prepare about what the ceiling takes
  kStorageCorner,  // the loader alone, storage and cores about as fast
};

// A kind of cell, visited again and again.
struct CellKind {
  CellRole role = CellRole::kCeiling;
  AnalysisCell cell;  // without a number
  std::vector<Visit> visits;
  std::string dropped;  // why it is not visited any more; "" it is
  size_t refusals = 0;  // of its limits

  // The slowest rank's rate in each visit.
  std::vector<double> rates() const;
  VisitFigure rate() const { return figure_of(rates()); }
};
// "prep on 0.75 cores", for people.
std::string cell_text(const CellKind& kind);

struct PlanFacts {
  double cpus = 1;         // of a rank
  bool can_memory = true;  // else neither prep nor train are measured
  bool can_cold = true;
  double narrow = 0.03;  // relative width at which a figure is good enough
  uint64_t batch_samples = 32;
  std::vector<double> amounts;  // of cores; empty: default_amounts(). All that
                                // there are is one of them in any case
};

// Of ranks that all run on one machine with so many CPUs.
double cpus_of_local_rank(const std::vector<AnalysisHello>& hellos,
                          double machine_cpus);

// An eighth, three and five eighths of the CPUs, and all: the curve in between
// is interpolated.
std::vector<double> default_amounts(double cpus);
// Where a rank can only be held to whole CPUs: up to three, spread over those
// under all.
std::vector<double> whole_amounts(double cpus);

// Rounds over all kinds that are not narrow yet, each in the reverse order of
// the one before, so that a machine that gets slower does so for all.
class AnalysisPlan {
 public:
  explicit AnalysisPlan(PlanFacts facts);

  // The next kind's number; nullopt: every figure is narrow.
  std::optional<size_t> next();
  // What was seen of it. A kind whose limit was not kept is dropped when that
  // happens again.
  void add(size_t kind, Visit visit);
  // It is not visited any more.
  void drop(size_t kind, std::string why);

  const std::vector<CellKind>& kinds() const { return kinds_; }
  size_t rounds() const { return rounds_; }  // begun
  const PlanFacts& facts() const { return facts_; }
  double widest() const;  // relative width of all figures
  // Amounts that were asked for and are more than there is.
  const std::vector<double>& left_out() const { return left_out_; }

 private:
  CellKind make(CellRole role, AnalysisFeed data, bool train) const;
  void begin_round();
  void size_subset();
  void add_ceiling_corner();
  void add_storage_corner();
  void add_prep(double cores);
  // True where that was once too often, and the kind is dropped.
  bool refuse(size_t kind, std::string why);
  // The first prep that cannot be limited makes room for others on whole CPUs.
  void drop_unkept(size_t kind, std::string why);
  double settable(double cores) const;
  const CellKind* find(CellRole role) const;
  std::optional<double> cores_that_prepare(double rate) const;

  PlanFacts facts_;
  std::vector<CellKind> kinds_;
  std::deque<size_t> round_;
  size_t rounds_ = 0;
  uint64_t subset_samples_;
  std::vector<double> left_out_;
  size_t corners_after_ = 1;  // rounds
  bool has_whole_amounts_ = false;
  bool has_ceiling_corner_ = false;
  bool has_storage_corner_ = false;
};

// Means over the visits of a kind, of all its ranks: what a sample costs.
struct SampleCosts {
  double cpu_s = 0;
  double read_bytes = 0;
  double consumed_bytes = 0;
};
// Zeros where there is no visit.
SampleCosts costs_of(const CellKind& kind);

// Of a cold sample: what was read by system calls, or storage's own count where
// that shows that the data are mapped.
double bytes_of_cold(const SampleCosts& costs);

}  // namespace penstock
