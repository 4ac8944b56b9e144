#include "report/core_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/options.h"
#include "report/core_model.h"
#include "report/text.h"

namespace penstock {
namespace {

using Rate = CoreModel::Rate;

// Smaller gains are within the error of the model.
constexpr double kWorthwhileGain = 0.05;
// From this share of the best rate on, further CPUs are not worth their price.
constexpr double kNearlyBest = 0.97;
constexpr double kNearlyGain = 1 / kNearlyBest - 1;
// Where the curve promises this much more than the prep stall allows, the split
// of the stalls decides.
constexpr double kCut = 1.1;
// Two runs of the same job differ by this much: on the machine of `penstock
// bench advice` the same PyTorch job had 263 to 290 samples/s.
constexpr double kRunToRun = 0.05;
// Use of CPUs at which a loader and a trainer hardly disturb each other.
constexpr double kComfortable = 0.8;

// An excess of a hundredth is ignored.
int whole(double amount) {
  return int(std::clamp(std::ceil(amount - 0.01), 1.0,
                        double{CoreModel::kMostPerTask}));
}

// What makes the loader start this number of threads. "": it does by itself.
std::string threads_line(const JobReport& report, double in_all) {
  const CoreFigures& cores = report.cores;
  const int per_rank = whole(in_all / std::max(1.0, double(report.ranks)));
  const int per_task = whole(in_all / double(report.tasks));
  if (cores.loader_grows) {
    if (cores.requested.value_or(per_task) >= per_task) return "";
    return fmt::format("#SBATCH {}={}", option_flag(kOptionThreads), per_task);
  }
  if (cores.loader_kind == LoaderKind::kThreads) {
    return fmt::format("threads={}", per_rank);
  }
  return fmt::format("num_workers={}", per_rank);
}

// threads: of the whole job.
bool needs_threads(const JobReport& report, double threads) {
  const CoreFigures& cores = report.cores;
  if (cores.loader_grows) return true;  // where a limit of the user is too low
  const double ranks = std::max(1.0, double(report.ranks));
  return whole(threads / ranks) >
         cores.loader_threads.value_or(0) / ranks + 0.5;
}

// The fewest CPUs with nearly the best rate.
int cpus_for_best(const CoreModel& model, int most) {
  const auto rate_with = [&](int cpus) {
    return model.rate_with(cpus * model.tasks(), &Estimate::value);
  };
  const double best = rate_with(most);
  // Rates rise with CPUs.
  int low = 1, high = most;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (rate_with(middle) >= kNearlyBest * best) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

std::string present_text(const CoreModel& model, LoaderKind kind) {
  const double cpus = model.cpus() * model.tasks();
  const std::string loaders =
      kind == LoaderKind::kTrainer
          ? "the trainer loaded its data itself"
          : fmt::format("at most {:.0f} loader thread{} ran", model.threads(),
                        model.threads() == 1 ? "" : "s");
  return fmt::format("; {} on {:.0f} CPU{}", loaders, cpus,
                     cpus == 1 ? "" : "s");
}

// loader: cores of the loader with the advice followed.
std::string reason_of(const JobReport& report, const CoreModel& model,
                      double loader, int cpus) {
  const double rate = model.rate_at(loader, &Estimate::value);
  std::string text = fmt::format(
      "{} samples/s take about {:.2f} loader cores and {:.2f} of the trainer",
      figure_text(rate), loader, model.trainer(rate));
  if (model.cores_of_thread() < 1) {
    text += fmt::format(
        ", in {:.0f} threads, since each uses {:.2f} of a core and waits for "
        "its data the rest of the time",
        std::ceil(model.threads_for(loader) - 0.01), model.cores_of_thread());
  }
  text += present_text(model, report.cores.loader_kind);
  const CoreFigures& cores = report.cores;
  if (cores.launch == Launch::kStepOfBatch && cores.job &&
      *cores.job > *cores.allocated) {
    text += fmt::format(
        "; the batch script has {:.0f} CPUs, but srun does not inherit its "
        "--cpus-per-task",
        *cores.job);
  }
  const WhatIfCurve& curve = *report.what_if;
  if (cpus == model.most_cpus() &&
      rate < kNearlyBest * curve.points.back().rate.value) {
    text += fmt::format(
        "; a task can have no more CPUs there, and the ceiling is {} samples/s",
        figure_text(curve.ceiling));
  }
  return text;
}

// Time that the job waited for data, or for a CPU that its own loader used;
// nullopt: unknown.
std::optional<double> held_up_s(const JobReport& report) {
  const Breakdown& breakdown = report.breakdown;
  if (!breakdown.waited_s || !(breakdown.wall_s > 0)) return std::nullopt;
  return *breakdown.waited_s + breakdown.contention_s.value_or(0);
}

bool is_held_up(const JobReport& report, double held_up_s,
                double share = kInputBoundShare) {
  return held_up_s >= share * report.breakdown.wall_s;
}

// The gain within what the job waited.
//   gain_at(end, factor)  of the curve, with the rate times this factor
template <class GainAt>
Estimate gain_of(const JobReport& report, const CoreModel& model,
                 const GainAt& gain_at) {
  const auto gain = [&](Rate end, double factor = 1) {
    return gain_at(end, factor);
  };
  // More CPUs leave the wait for storage as it is, but more threads that wait
  // at the same time do not.
  const Breakdown& breakdown = report.breakdown;
  const std::optional<double> cpu_s = data_waits(breakdown).cpu_s;
  const double avoided_s = cpu_s && model.cores_of_thread() == 1
                               ? *cpu_s
                               : breakdown.waited_s.value_or(breakdown.wall_s);
  const double most =
      breakdown.wall_s / std::max(1e-9, breakdown.wall_s - avoided_s) - 1;
  Estimate out;
  out.high = std::max(0.0, gain(&Estimate::high, 1 + kRunToRun));
  out.value = std::clamp(gain(&Estimate::value), 0.0, std::min(most, out.high));
  const bool is_cut = gain(&Estimate::value) > kCut * most;
  const double least = is_cut ? kLeastOfStall * out.value : out.value;
  out.low = std::clamp(gain(&Estimate::low, 1 - kRunToRun), 0.0, least);
  if (model.cores_of_thread() < 1) out.low = 0;
  return out;
}

// CPUs and loader threads with which a starved job is faster.
struct Growth {
  int cpus = 0;       // of a task
  double loader = 0;  // cores
  double threads = 0;
};

// Those with which its rate is nearly the best.
Growth best_growth(const CoreModel& model) {
  const int most = std::max(model.cpus(), model.most_cpus());
  Growth out;
  out.cpus = cpus_for_best(model, most);
  // Of those that it has, one more than expected is left to it.
  if (out.cpus < model.cpus()) ++out.cpus;
  const double enough =
      kNearlyBest * model.rate_with(most * model.tasks(), &Estimate::value);
  out.loader =
      std::min(model.loader_cores(out.cpus * model.tasks(), &Estimate::value),
               model.cores_for(enough, &Estimate::value));
  out.threads = model.threads_for(out.loader);
  return out;
}

// With these CPUs of a task, and enough loader threads for them.
Estimate gain_with_cpus(const JobReport& report, const CoreModel& model,
                        int cpus) {
  return gain_of(report, model, [&](Rate end, double factor) {
    const double rate = model.rate_with(cpus * model.tasks(), end);
    return factor * rate / model.here_rate() - 1;
  });
}

// "": it needs no other number of threads.
std::string line_of_threads(const JobReport& report, const Growth& growth) {
  if (!needs_threads(report, growth.threads)) return "";
  return threads_line(report, growth.threads);
}

std::optional<Recommendation> advise_more(const JobReport& report,
                                          const CoreModel& model) {
  if (model.is_bound_by_storage()) return std::nullopt;
  const Growth growth = best_growth(model);
  const Estimate gain = gain_with_cpus(report, model, growth.cpus);
  if (gain.value < kWorthwhileGain) return std::nullopt;
  Recommendation out;
  const std::string line = line_of_threads(report, growth);
  if (!line.empty()) out.lines.push_back(line);
  if (growth.cpus != model.cpus()) {
    const std::vector<std::string> lines =
        cpus_lines(report.cores, report.tasks, growth.cpus);
    out.lines.insert(out.lines.end(), lines.begin(), lines.end());
  }
  if (out.lines.empty()) return std::nullopt;
  out.reason = reason_of(report, model, growth.loader, growth.cpus);
  out.gain = gain;
  return out;
}

// Cores of the loader and of the trainers for nearly the ceiling.
// REQUIRES: demand and reserve are known.
double cores_for_ceiling(const CoreFigures& cores, Rate end) {
  const double trainer =
      std::max(cores.trainer_demand ? (*cores.trainer_demand).*end : 0,
               cores.reserve.value());
  return kNearlyBest * (cores.demand.value().*end + trainer);
}

// Growing follows what is expected, shrinking the worst that is: room for a
// loader and a trainer that disturb each other, up to a CPU more than expected.
// nullopt: no fewer are enough.
std::optional<int> fewer_cpus(const JobReport& report) {
  const CoreFigures& cores = report.cores;
  if (!cores.demand || !cores.reserve || !cores.allocated || !report.tasks) {
    return std::nullopt;
  }
  const double tasks = double(report.tasks);
  const double worst = cores_for_ceiling(cores, &Estimate::high) / tasks;
  const double expected = cores_for_ceiling(cores, &Estimate::value) / tasks;
  const int cpus = std::max(
      whole(worst), std::min(whole(worst / kComfortable), whole(expected) + 1));
  if (cpus * tasks > *cores.allocated - 0.5) return std::nullopt;
  return cpus;
}

std::optional<Recommendation> advise_fewer(const JobReport& report) {
  const std::optional<int> cpus = fewer_cpus(report);
  if (!cpus) return std::nullopt;
  const CoreFigures& cores = report.cores;
  const double trainer = std::max(
      cores.trainer_demand ? cores.trainer_demand->high : 0, *cores.reserve);
  return Recommendation{
      cpus_lines(report.cores, report.tasks, *cpus),
      fmt::format("the loader takes at most {:.2f} cores and the trainer "
                  "{:.2f}; Slurm gave {}",
                  cores.demand->high, trainer, figure_text(cores.allocated)),
      std::nullopt};
}

// Two runs of the same job, of which one had this rate.
Estimate again(double rate) {
  return {rate, rate * (1 - kRunToRun), rate * (1 + kRunToRun)};
}

// By the curve alone.
template <class RateAt>
Estimate widened(const RateAt& rate) {
  const double value = rate(&Estimate::value);
  return {value, std::min(value, rate(&Estimate::low)) * (1 - kRunToRun),
          std::max(value, rate(&Estimate::high)) * (1 + kRunToRun)};
}

// By the measured rate, and what the curve takes off it.
template <class RateAt>
Estimate scaled(double here, const RateAt& own, const RateAt& other) {
  const auto part = [&](Rate end) {
    return own(end) > 0 ? std::min(1.0, other(end) / own(end)) : 1.0;
  };
  Estimate out = again(here);
  out.value *= part(&Estimate::value);
  out.low *= std::min(part(&Estimate::low), part(&Estimate::high));
  out.high *= std::max(part(&Estimate::low), part(&Estimate::high));
  return out;
}

// Whether another run can be nearer to its ceiling: already from waits on that
// a report does not advise on.
bool is_slow(const JobReport& report, double held_up_s) {
  return is_held_up(report, held_up_s, 1 - kNearlyBest);
}

}  // namespace

std::vector<std::string> cpus_lines(const CoreFigures& cores, uint32_t tasks,
                                    int per_task) {
  const bool is_step =
      cores.launch == Launch::kStep || cores.launch == Launch::kStepOfBatch;
  const bool has_them = cores.launch == Launch::kStepOfBatch && cores.job &&
                        1.0 * per_task * tasks <= *cores.job;
  std::vector<std::string> out;
  if (cores.launch != Launch::kStep && !has_them) {
    out.push_back(fmt::format("#SBATCH --cpus-per-task={}", per_task));
  }
  if (is_step) out.push_back(fmt::format("srun --cpus-per-task={}", per_task));
  return out;
}

std::optional<Recommendation> advise_cores(const JobReport& report) {
  const std::optional<double> waited_s = held_up_s(report);
  if (!waited_s) return std::nullopt;
  if (!is_held_up(report, *waited_s)) return advise_fewer(report);
  const std::optional<CoreModel> model = CoreModel::of(report);
  return model ? advise_more(report, *model) : std::nullopt;
}

std::optional<CoresChoice> choose_cores(const JobReport& report) {
  const std::optional<double> waited_s = held_up_s(report);
  const std::optional<CoreModel> model = CoreModel::of(report);
  if (!waited_s || !model) return std::nullopt;
  CoresChoice out;
  out.cpus_per_task = model->cpus();
  if (!is_slow(report, *waited_s) && !model->was_lent()) {
    out.cpus_per_task = fewer_cpus(report).value_or(out.cpus_per_task);
    return out;
  }
  if (model->is_bound_by_storage()) return out;
  const Growth growth = best_growth(*model);
  const int most = std::max(model->cpus(), model->most_cpus());
  const bool helps = model->was_lent() ||
                     gain_with_cpus(report, *model, most).value >= kNearlyGain;
  if (!helps) return out;
  out.cpus_per_task = growth.cpus;
  out.threads_line = line_of_threads(report, growth);
  return out;
}

std::optional<Estimate> rate_with_cpus(const JobReport& report, int per_task,
                                       LoaderThreads threads) {
  const std::optional<double> waited_s = held_up_s(report);
  const std::optional<CoreModel> model = CoreModel::of(report);
  if (!waited_s || !model) return std::nullopt;
  const double here = model->here_rate();
  const double usable = threads == LoaderThreads::kAsBefore
                            ? model->usable()
                            : CoreModel::kMostPerTask * model->tasks();
  const auto rate_of = [&](int cpus) {
    return [&model, usable, cpus](Rate end) {
      const double loader = model->loader_cores(cpus * model->tasks(), end);
      return model->rate_at(std::min(usable, loader), end);
    };
  };
  const auto rate = rate_of(per_task);
  if (model->was_lent()) return widened(rate);
  const bool has_more =
      per_task > model->cpus() || threads == LoaderThreads::kEnough;
  if (!has_more || !is_slow(report, *waited_s) ||
      model->is_bound_by_storage()) {
    return scaled(here, rate_of(model->cpus()), rate);
  }
  const Estimate gain = gain_of(report, *model, [&](Rate end, double factor) {
    return factor * rate(end) / here - 1;
  });
  return Estimate{here * (1 + gain.value), here * (1 + gain.low),
                  here * (1 + gain.high)};
}

std::optional<Estimate> gain_of_lent_cores(const JobReport& report,
                                           double cores) {
  const std::optional<double> waited_s = held_up_s(report);
  if (!waited_s) return std::nullopt;
  if (!is_held_up(report, *waited_s)) return Estimate::exact(0);
  const std::optional<CoreModel> model = CoreModel::of(report);
  if (!model) return std::nullopt;
  if (model->is_bound_by_storage()) return Estimate::exact(0);
  return gain_of(report, *model, [&](Rate end, double factor) {
    const double own = model->all_cpus();
    return factor * model->rate_with(own + cores, end) /
               model->rate_with(own, end) -
           1;
  });
}

void follow_advice(const JobReport& report,
                   std::vector<LaunchProblem>& problems) {
  const auto is_of_workers = [](const LaunchProblem& problem) {
    return problem.fault == LaunchFault::kManyWorkers ||
           problem.fault == LaunchFault::kFewWorkers;
  };
  if (std::none_of(problems.begin(), problems.end(), is_of_workers)) return;
  const std::optional<Recommendation> advice = advise_cores(report);
  for (LaunchProblem& problem : problems) {
    if (advice && advice->gain && is_of_workers(problem)) {
      problem.lines = advice->lines;
    }
  }
  std::erase_if(problems, [](const LaunchProblem& problem) {
    return problem.lines.empty();
  });
}

}  // namespace penstock
