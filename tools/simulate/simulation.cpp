#include "tools/simulate/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace penstock::simulate {
namespace {

// Delay of the first round after the first arrival, so that jobs submitted
// together start together.
constexpr double kFirstRound_s = 1;
// Share of the iterations that rounding may leave undone.
constexpr double kTolerance = 1e-9;
// Below the resolution of a double that counts seconds over years.
constexpr double kNoTime_s = 1e-6;

std::unique_ptr<RatePolicy> make_policy(const Options& options) {
  PenstockOptions penstock;
  penstock.prediction_error = options.prediction_error;
  penstock.seed = options.seed;
  switch (options.policy) {
    case Policy::kEven:
      return make_even(options.size);
    case Policy::kProportional:
      return make_proportional(options.size);
    case Policy::kCeiling:
      return make_ceiling();
    case Policy::kPool:
      penstock.is_pool = true;
      break;
    case Policy::kGreedy:
    case Policy::kTune:
      return nullptr;
    case Policy::kPenstock:
      penstock.policy = options.objective;
      break;
  }
  return make_penstock(options.size, penstock);
}

class Simulation {
 public:
  Simulation(const std::vector<TraceJob>& trace, const Options& options)
      : trace_(trace),
        options_(options),
        policy_(make_policy(options)),
        occupancy_(options.size) {
    for (const TraceJob& job : trace) {
      arrivals_.push_back(&job);
      left_[job.id] = job.iterations;
    }
    std::stable_sort(arrivals_.begin(), arrivals_.end(), [](auto* a, auto* b) {
      return a->arrival_s < b->arrival_s;
    });
    outcome_.min_rate_vs_floor = std::numeric_limits<double>::infinity();
  }

  Result<Outcome> run(const std::function<void(double)>& progress) {
    now_ = arrivals_.front()->arrival_s;
    if (has_rounds()) now_ += kFirstRound_s;
    while (ended_.size() < trace_.size()) {
      admit();
      if (Status status = schedule(); !status) return status.error();
      note_rates();
      if (Status status = advance(); !status) return status.error();
      progress(static_cast<double>(ended_.size()) /
               static_cast<double>(trace_.size()));
    }
    summarise();
    return std::move(outcome_);
  }

 private:
  bool has_rounds() const { return options_.round_s > 0; }

  void admit() {
    while (next_arrival_ < arrivals_.size() &&
           arrivals_[next_arrival_]->arrival_s <= now_) {
      waiting_.push_back(arrivals_[next_arrival_++]);
    }
  }

  // Sorts waiting jobs, and between rounds running jobs too.
  void put_in_order(std::vector<const TraceJob*>& jobs) const {
    const auto left_s = [&](const TraceJob* job) {
      const double fair = measured_rate(*job, options_.size.cores_per_gpu());
      return left_.at(job->id) / fair;
    };
    std::stable_sort(jobs.begin(), jobs.end(),
                     [&](const TraceJob* a, const TraceJob* b) {
                       if (options_.order == Order::kSrtf) {
                         const double left_a = left_s(a);
                         const double left_b = left_s(b);
                         if (left_a != left_b) return left_a < left_b;
                       }
                       return a->arrival_s < b->arrival_s;
                     });
  }

  Status schedule() {
    if (has_rounds()) {
      if (Status status = end_leases(); !status) return status;
    }
    put_in_order(waiting_);
    if (!policy_) return synergy();
    for (const TraceJob* job : take_fitting()) {
      running_.push_back(
          {job,
           occupancy_.place(job->gpus, ceiling_cores(*job), options_.placement),
           0});
      note_start(*job);
      if (Status status = policy_->start(running_.back()); !status) {
        return status;
      }
    }
    return policy_->set_rates(running_);
  }

  // Takes the jobs that fit, in the order of their placement. With kSpread the
  // jobs with the largest demand come first, which balances the nodes.
  std::vector<const TraceJob*> take_fitting() {
    std::vector<const TraceJob*> fitting, passed_over;
    int free = occupancy_.free_gpus();
    for (const TraceJob* job : waiting_) {
      const bool fits = job->gpus <= free;
      (fits ? fitting : passed_over).push_back(job);
      if (fits) free -= job->gpus;
    }
    waiting_ = std::move(passed_over);
    if (options_.placement == Placement::kSpread) {
      std::stable_sort(fitting.begin(), fitting.end(), [](auto* a, auto* b) {
        return ceiling_cores(*a) > ceiling_cores(*b);
      });
    }
    return fitting;
  }

  Status synergy() {
    running_ = synergy_round(waiting_, options_.size,
                             options_.policy == Policy::kTune
                                 ? SynergyPolicy::kTune
                                 : SynergyPolicy::kGreedy);
    for (const Running& it : running_) {
      note_start(*it.job);
      std::erase(waiting_, it.job);
    }
    return Done{};
  }

  Status end_leases() {
    for (const Running& it : running_) {
      waiting_.push_back(it.job);
      if (Status status = leave(it); !status) return status;
    }
    running_.clear();
    return Done{};
  }

  Status leave(const Running& it) {
    if (!policy_) return Done{};
    occupancy_.release(it.shares, ceiling_cores(*it.job));
    return policy_->end(it);
  }

  double next_time() const {
    if (has_rounds()) return now_ + options_.round_s;
    double next = std::numeric_limits<double>::infinity();
    if (next_arrival_ < arrivals_.size()) {
      next = arrivals_[next_arrival_]->arrival_s;
    }
    for (const Running& it : running_) {
      next = std::min(next, now_ + left_.at(it.job->id) / it.rate);
    }
    return next;
  }

  Status advance() {
    const double next = next_time();
    const double duration_s = next - now_;
    now_ = next;
    std::vector<Running> still;
    for (Running& it : running_) {
      double& left = left_[it.job->id];
      double done = it.rate * duration_s;
      if (has_rounds()) done = std::floor(done + kTolerance);
      if (done == 0 && has_rounds()) return too_short(it);
      left -= done;
      const double held = it.job->gpus * duration_s;
      outcome_.gpu_s_held += held;
      outcome_.gpu_s_stalled += held * (1 - it.rate / it.job->ceiling);
      if (left > kTolerance * it.job->iterations &&
          left > it.rate * kNoTime_s) {
        still.push_back(std::move(it));
        continue;
      }
      ended_[it.job->id] = now_;
      if (Status status = leave(it); !status) return status;
    }
    running_ = std::move(still);
    return Done{};
  }

  Error too_short(const Running& it) const {
    return invalid(
        fmt::format("job {}: {:.3g} iterations/s are less than one iteration "
                    "in a round of {:g} s; choose a longer --round",
                    it.job->id, it.rate, options_.round_s));
  }

  void note_start(const TraceJob& job) { started_.emplace(job.id, now_); }

  void note_rates() {
    Sample sample = {now_, 0, 0};
    const double all =
        options_.size.nodes * static_cast<double>(options_.size.gpus_per_node);
    for (const Running& it : running_) {
      sample.gpus_held += it.job->gpus / all;
      sample.gpus_busy += it.job->gpus * it.rate / it.job->ceiling / all;
      const double floor =
          measured_rate(*it.job, options_.size.cores_per_gpu());
      outcome_.min_rate_vs_floor =
          std::min(outcome_.min_rate_vs_floor, it.rate / floor);
    }
    outcome_.samples.push_back(sample);
  }

  void summarise() {
    std::vector<double> jcts;
    for (const TraceJob& job : trace_) {
      const double end_s = ended_.at(job.id);
      jcts.push_back(end_s - job.arrival_s);
      outcome_.jobs.push_back(
          {job.id, started_.at(job.id), end_s, jcts.back()});
      outcome_.mean_jct_s += jcts.back() / static_cast<double>(trace_.size());
      outcome_.makespan_s =
          std::max(outcome_.makespan_s, end_s - arrivals_.front()->arrival_s);
    }
    std::sort(jcts.begin(), jcts.end());
    outcome_.p95_jct_s = jcts[(jcts.size() - 1) * 95 / 100];
  }

  const std::vector<TraceJob>& trace_;
  const Options& options_;
  std::unique_ptr<RatePolicy> policy_;  // none: Synergy's
  Occupancy occupancy_;
  std::vector<const TraceJob*> arrivals_;
  size_t next_arrival_ = 0;
  std::vector<const TraceJob*> waiting_;
  std::vector<Running> running_;
  std::unordered_map<uint64_t, double> left_;  // iterations
  std::unordered_map<uint64_t, double> started_;
  std::unordered_map<uint64_t, double> ended_;
  double now_ = 0;
  Outcome outcome_;
};

Status check(const std::vector<TraceJob>& trace, const Options& options) {
  const int gpus = options.size.nodes * options.size.gpus_per_node;
  const bool is_synergys =
      options.policy == Policy::kGreedy || options.policy == Policy::kTune;
  if (is_synergys && options.round_s == 0) {
    return invalid("greedy and tune place jobs again in each round: --round");
  }
  for (const TraceJob& job : trace) {
    if (job.gpus > gpus) {
      return invalid(fmt::format("job {}: needs {} GPUs, the cluster has {}",
                                 job.id, job.gpus, gpus));
    }
    if (is_synergys && job.fair_rate == 0) {
      return invalid(fmt::format(
          "job {}: greedy and tune need Synergy's profiles", job.id));
    }
  }
  return Done{};
}

}  // namespace

std::vector<NamedPolicy> named_policies() {
  std::vector<NamedPolicy> policies = {
      {.name = "even", .policy = Policy::kEven},
      {.name = "proportional-to-GPU", .policy = Policy::kProportional},
      {.name = "greedy", .policy = Policy::kGreedy},
      {.name = "tune", .policy = Policy::kTune},
      {.name = "penstock"}};
  for (size_t i = 0; i < std::size(kPolicyNames); ++i) {
    const auto objective = static_cast<penstock::Policy>(i);
    if (objective == kDefaultPolicy || !lends(objective)) continue;
    policies.push_back({std::string("penstock-") + kPolicyNames[i],
                        Policy::kPenstock, objective});
  }
  return policies;
}

Result<Outcome> simulate(const std::vector<TraceJob>& trace,
                         const Options& options,
                         const std::function<void(double)>& progress) {
  if (Status status = check(trace, options); !status) return status.error();
  return Simulation(trace, options).run(progress);
}

}  // namespace penstock::simulate
