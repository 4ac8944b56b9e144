// Detects loans that cost the lender more than CPU time: through caches, memory
// bandwidth, or away threads that do not yield properly. Pure; one per job.
#pragma once

#include <deque>
#include <optional>

namespace penstock {

class LenderWatch {
 public:
  struct Look {
    double now_s = 0;
    // CPU time so far that others have used on the job's CPUs. A period without
    // any counts as one without a loan: who computes on all CPUs gets less of
    // them from the system than who did so beside an idle neighbour.
    double lent_cpu_s = 0;
    // The job's performance, higher is better: samples/s, or for a job without
    // progress pages the share of the wanted CPU time that it got. nullopt: no
    // data in this period.
    std::optional<double> figure;
    bool is_rate = false;
    bool is_idle = false;  // wanted almost no CPU time in this period
  };

  enum class Verdict {
    kGoOn,
    kMeasure,  // no baseline: return the CPUs until there is one
    kSuffers,  // the loss is over 2 % and statistically significant
  };
  // Call once a period. After kMeasure or kSuffers, may_lend() is false for a
  // while.
  Verdict look(const Look& look);

  // False until there is a baseline: kBaseline looks without a loan, or
  // kPatience_s without that many. False for kBarred_s after kSuffers. True for
  // a job that was idle at the last look, as it loses nothing; once it is busy,
  // kMeasure starts a baseline.
  bool may_lend(double now_s) const;

  double unlent_figure() const;
  double lent_figure() const;

  static constexpr size_t kBaseline = 5;
  static constexpr double kPatience_s = 10;
  static constexpr double kBarred_s = 60;
  static constexpr double kSuffers = 0.98;  // of the mean without a loan
  static constexpr size_t kJudged = 10;  // looks with a loan before a verdict

 private:
  static constexpr size_t kUnlentKept = 30;

  std::deque<double> unlent_;
  std::deque<double> lent_;
  double lent_cpu_s_ = 0;  // at the last look
  bool is_rate_ = false;
  bool is_idle_ = false;
  std::optional<double> first_look_s_;
  double barred_until_s_ = 0;
};

}  // namespace penstock
