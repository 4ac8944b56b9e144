// Chooses the next cell and decides when the figures are good enough. Pure.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tools/analyze/visit.h"
#include "wire/analysis_messages.h"

namespace penstock {

// Purpose of a cell.
enum class CellRole {
  kCeiling,        // no data: the trainer alone
  kPrep,           // the loader alone, data in memory, on limited or all cores
  kFetch,          // the loader alone, cold data
  kTrain,          // both, data in memory
  kCeilingCorner,  // both, on cores that prepare about the ceiling's rate
  kStorageCorner,  // the loader alone, storage about as fast as the cores
};

// A kind of cell, visited repeatedly.
struct CellKind {
  CellRole role = CellRole::kCeiling;
  AnalysisCell cell;  // without cell number
  std::vector<Visit> visits;
  std::string dropped;  // why it is no longer visited; "": it is visited
  size_t refusals = 0;  // of its limits

  // The slowest rank's rate in each visit.
  std::vector<double> rates() const;
  VisitFigure rate() const { return figure_of(rates()); }
};
// "prep on 0.75 cores", for display.
std::string cell_text(const CellKind& kind);

struct PlanFacts {
  double cpus = 1;         // per rank
  bool can_memory = true;  // else neither prep nor train is measured
  bool can_cold = true;
  double narrow = 0.03;  // relative width of a good enough figure
  uint64_t batch_samples = 32;
  std::vector<double> amounts;  // of cores; empty: default_amounts(). All cores
                                // are always added
};

// CPUs per rank if all ranks run on one machine with machine_cpus.
double cpus_of_local_rank(const std::vector<AnalysisHello>& hellos,
                          double machine_cpus);

// An eighth, three eighths, five eighths and all of the CPUs; the curve in
// between is interpolated.
std::vector<double> default_amounts(double cpus);
// For ranks that can only be limited to whole CPUs: up to three amounts, spread
// below all CPUs.
std::vector<double> whole_amounts(double cpus);

// Visits all kinds that are not narrow yet, in rounds. Each round reverses the
// order of the one before, so that a slowing machine affects all kinds equally.
class AnalysisPlan {
 public:
  explicit AnalysisPlan(PlanFacts facts);

  // Index of the next kind; nullopt: every figure is narrow.
  std::optional<size_t> next();
  // Adds the measurements of a visit. A kind whose limit is not kept a second
  // time is dropped.
  void add(size_t kind, Visit visit);
  // Stops visiting the kind.
  void drop(size_t kind, std::string why);

  const std::vector<CellKind>& kinds() const { return kinds_; }
  size_t rounds() const { return rounds_; }  // rounds begun
  const PlanFacts& facts() const { return facts_; }
  double widest() const;  // relative width of all figures
  // Requested amounts that exceed the CPUs of a rank.
  const std::vector<double>& left_out() const { return left_out_; }

 private:
  CellKind make(CellRole role, AnalysisFeed data, bool train) const;
  void begin_round();
  void size_subset();
  void add_ceiling_corner();
  void add_storage_corner();
  void add_prep(double cores);
  // Counts a refusal. True if the kind was dropped for it.
  bool refuse(size_t kind, std::string why);
  // Drops a kind that cannot be limited. The first such prep adds kinds on
  // whole CPUs.
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
  size_t corners_after_ = 1;  // number of rounds
  bool has_whole_amounts_ = false;
  bool has_ceiling_corner_ = false;
  bool has_storage_corner_ = false;
};

// Costs per sample: means over all visits and ranks of a kind.
struct SampleCosts {
  double cpu_s = 0;
  double read_bytes = 0;
  double consumed_bytes = 0;
};
// Zeros without a visit.
SampleCosts costs_of(const CellKind& kind);

// Bytes of a cold sample: those read by system calls, or storage's own count if
// that shows that files are memory-mapped.
double bytes_of_cold(const SampleCosts& costs);

}  // namespace penstock
