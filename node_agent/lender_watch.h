// Whether lending costs a job more than CPU time: caches, memory bandwidth, or
// away threads that do not yield as they should. Pure: one per job.
#pragma once

#include <deque>
#include <optional>

namespace penstock {

class LenderWatch {
 public:
  struct Look {
    double now_s = 0;
    bool lent = false;  // CPUs of the job are lent to others
    // How well the job does, the more the better: samples/s, or where it
    // reports none the share of the CPU time that it wanted which it got.
    // nullopt: nothing to tell it from in this period.
    std::optional<double> figure;
    bool is_rate = false;
    bool is_idle = false;  // wanted next to no CPU time in this period
  };

  enum class Verdict {
    kGoOn,
    kMeasure,  // nothing to compare with: return its CPUs until there is
    kSuffers,  // the loan costs it more than kSuffers, and more than chance
  };
  // Once a period; after the latter two may_lend() is false for a while.
  Verdict look(const Look& look);

  // False until there is something to compare with (kBaseline looks without a
  // loan, or kPatience_s without enough of them), unless the job was idle at
  // the last look, and for kBarred_s after it suffered. An idle job loses
  // nothing; once it is busy, kMeasure takes the comparison up.
  bool may_lend(double now_s) const;

  double unlent_figure() const;
  double lent_figure() const;

  static constexpr size_t kBaseline = 5;
  static constexpr double kPatience_s = 10;
  static constexpr double kBarred_s = 60;
  static constexpr double kSuffers = 0.98;  // of the figure without a loan
  static constexpr size_t kJudged = 10;     // looks with a loan

 private:
  static constexpr size_t kUnlentKept = 30;

  std::deque<double> unlent_;
  std::deque<double> lent_;
  bool is_rate_ = false;
  bool is_idle_ = false;
  std::optional<double> first_look_s_;
  double barred_until_s_ = 0;
};

}  // namespace penstock
