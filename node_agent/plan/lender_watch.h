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
    bool lent = false;  // the job's CPUs are lent to others
    // CPU time so far that others have used on the job's CPUs. A period of a
    // loan without any belongs to the baseline: a job gets less of a CPU while
    // all are busy than it got beside an idle neighbour.
    double lent_cpu_s = 0;
    bool to_guest = false;  // a guest is among those
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
    // The loss in used periods is statistically significant, and over 2 % of
    // the loan's whole time.
    kSuffers,
    // The same, while guests were lent its CPUs: these go first.
    kSuffersFromGuests,
  };
  // Call once a period. After kMeasure or kSuffers, may_lend() is false for a
  // while; after kSuffersFromGuests, may_lend_to_guests() is.
  Verdict look(const Look& look);

  // False until there is a baseline: kBaseline looks without a loan, or
  // kPatience_s without that many. False for kBarred_s after kSuffers. True for
  // a job that was idle at the last look, as it loses nothing; once it is busy,
  // kMeasure starts a baseline.
  bool may_lend(double now_s) const;
  // False too for kBarred_s after kSuffersFromGuests.
  bool may_lend_to_guests(double now_s) const;

  double unlent_figure() const;
  double lent_figure() const;

  static constexpr size_t kBaseline = 5;
  static constexpr double kPatience_s = 10;
  static constexpr double kBarred_s = 60;
  static constexpr double kSuffers = 0.98;  // of the mean without a loan
  static constexpr size_t kJudged = 10;  // looks with a loan before a verdict

 private:
  static constexpr size_t kUnlentKept = 30;

  void forget_loan();

  std::deque<double> unlent_;
  std::deque<double> lent_;  // in used periods
  std::deque<double> uses_;  // of a loan's last periods: 1, or 0 if unused
  double lent_cpu_s_ = 0;    // at the last look
  bool is_rate_ = false;
  bool is_idle_ = false;
  std::optional<double> first_look_s_;
  double barred_until_s_ = 0;
  double guests_barred_until_s_ = 0;
  size_t used_without_guest_ = kJudged;  // figures of lent_ since a guest's
};

}  // namespace penstock
