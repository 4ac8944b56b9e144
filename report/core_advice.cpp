#include "report/core_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/options.h"
#include "report/text.h"

namespace penstock {
namespace {

// Smaller gains are within the error of the model.
constexpr double kWorthwhileGain = 0.05;
// From this share of the best rate on, further CPUs are not worth their price.
constexpr double kNearlyBest = 0.97;
// A job that uses this share of its CPUs has no more to use.
constexpr double kSaturated = 0.85;
// A thread that uses less of a core than this sleeps in between.
constexpr double kAwake = 0.85;
// A job that reads this share of what storage supplies is bound by it.
constexpr double kReadsAll = 0.8;
// Where the curve promises this much more than the prep stall allows, the split
// of the stalls decides.
constexpr double kCut = 1.1;
// Two runs of the same job differ by this much: on the machine of `penstock
// bench advice` the same PyTorch job had 263 to 290 samples/s.
constexpr double kRunToRun = 0.05;
// Use of CPUs at which a loader and a trainer hardly disturb each other.
constexpr double kComfortable = 0.8;
constexpr int kMostPerTask = 4096;  // limit of the options
constexpr int kBisections = 50;

using Rate = double Estimate::*;  // of the curve: value, low or high

class CoreModel {
 public:
  static std::optional<CoreModel> of(const JobReport& report) {
    const CoreFigures& cores = report.cores;
    if (!report.what_if || report.what_if->points.size() < 2 ||
        !report.what_if->here_rate || !(*report.what_if->here_rate > 0) ||
        !cores.allocated || !report.tasks ||
        cores.loader_kind == LoaderKind::kUnknown) {
      return std::nullopt;
    }
    return CoreModel(report);
  }

  double here_rate() const { return *curve_.here_rate; }
  double tasks() const { return double(report_.tasks); }
  int cpus() const {  // of a task
    return int(std::clamp(std::round(*report_.cores.allocated / tasks()), 1.0,
                          double{kMostPerTask}));
  }
  int most_cpus() const {
    if (!report_.cores.node) return kMostPerTask;
    return int(
        std::clamp(*report_.cores.node / tasks(), 1.0, double{kMostPerTask}));
  }

  // Cores of the trainers at this rate.
  double trainer(double rate) const {
    const CoreFigures& cores = report_.cores;
    if (cores.trainer_demand && curve_.ceiling > 0) {
      return cores.trainer_demand->value * rate / curve_.ceiling;
    }
    return cores.reserve.value_or(0);
  }

  // The rate with this number of loader cores.
  double rate_at(double cores, Rate end) const {
    const auto& points = curve_.points;
    const auto after = std::find_if(
        points.begin(), points.end(),
        [cores](const RateAtCores& point) { return point.cores >= cores; });
    if (after == points.end()) return points.back().rate.*end;
    if (after == points.begin()) return after->rate.*end;
    const RateAtCores& before = *(after - 1);
    const double part = (cores - before.cores) / (after->cores - before.cores);
    return before.rate.*end + part * (after->rate.*end - before.rate.*end);
  }

  // The least number of loader cores for this rate; the curve's end if none is
  // enough.
  double cores_for(double rate, Rate end) const {
    double low = 0, high = curve_.points.back().cores;
    for (int i = 0; i < kBisections; ++i) {
      const double middle = (low + high) / 2;
      (rate_at(middle, end) >= rate ? high : low) = middle;
    }
    return high;
  }

  double all_cpus() const { return cpus() * tasks(); }

  // Loader cores that the trainers leave of this many CPUs.
  double loader_cores(double cpus, Rate end) const {
    double low = 0, high = std::min(cpus, curve_.points.back().cores);
    for (int i = 0; i < kBisections; ++i) {
      const double middle = (low + high) / 2;
      const double used = middle + trainer(rate_at(middle, end));
      (used <= cpus ? low : high) = middle;
    }
    return low;
  }

  // cpus: of all tasks.
  double rate_with(double cpus, Rate end) const {
    return rate_at(loader_cores(cpus, end), end);
  }

  // Loader cores in use now, while the job trains.
  double used() const { return cores_for(here_rate(), &Estimate::value); }

  // Whether the job uses all CPUs that it has, lent ones included.
  bool is_saturated() const {
    const double has =
        *report_.cores.allocated + report_.cores.granted_away.value_or(0);
    return used() + trainer(here_rate()) >= kSaturated * has;
  }

  double threads() const { return report_.cores.loader_threads.value_or(0); }

  // Cores that one loader thread uses. While the job is starved, its threads
  // always work. Those that use less than a core then sleep; behind others'
  // backs on a saturated CPU they would not.
  double cores_of_thread() const {
    if (!(threads() > 0) || is_saturated()) return 1;
    const double share = used() / threads();
    return share < kAwake ? std::max(share, 1e-3) : 1;
  }

  // Whether threads sleep and nobody knows that more of them would get more.
  bool is_bound_by_storage() const {
    if (cores_of_thread() == 1) return false;
    const BandwidthFigures& storage = report_.bandwidth;
    if (storage.pool.empty() || !storage.used_bytes_per_s) {
      const DataWaits waits = data_waits(report_.breakdown);
      return waits.storage_s.value_or(0) > waits.cpu_s.value_or(0);
    }
    double supplied = storage.pool_bytes_per_s.value_or(0);
    if (storage.granted_bytes_per_s) {
      supplied = std::min(supplied, *storage.granted_bytes_per_s);
    }
    return *storage.used_bytes_per_s >= kReadsAll * supplied;
  }

  // Loader threads that use this number of cores, of the whole job.
  double threads_for(double cores) const { return cores / cores_of_thread(); }

 private:
  explicit CoreModel(const JobReport& report)
      : report_(report), curve_(*report.what_if) {}

  const JobReport& report_;
  const WhatIfCurve& curve_;
};

// An excess of a twentieth is ignored.
int whole(double amount) {
  return int(std::clamp(std::ceil(amount - 0.05), 1.0, double{kMostPerTask}));
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
int cpus_for_best(const CoreModel& model, int least, int most) {
  const auto rate_with = [&](int cpus) {
    return model.rate_with(cpus * model.tasks(), &Estimate::value);
  };
  const double best = rate_with(most);
  // Rates rise with CPUs.
  int low = least, high = most;
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
        std::ceil(model.threads_for(loader) - 0.05), model.cores_of_thread());
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

bool is_held_up(const JobReport& report, double held_up_s) {
  return held_up_s >= kInputBoundShare * report.breakdown.wall_s;
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

std::optional<Recommendation> advise_more(const JobReport& report,
                                          const CoreModel& model) {
  if (model.is_bound_by_storage()) return std::nullopt;
  const int most = std::max(model.cpus(), model.most_cpus());
  const int cpus = cpus_for_best(model, model.cpus(), most);
  const Estimate gain = gain_of(report, model, [&](Rate end, double factor) {
    const double rate = model.rate_with(cpus * model.tasks(), end);
    return factor * rate / model.here_rate() - 1;
  });
  if (gain.value < kWorthwhileGain) return std::nullopt;
  const double enough =
      kNearlyBest * model.rate_with(most * model.tasks(), &Estimate::value);
  const double loader =
      std::min(model.loader_cores(cpus * model.tasks(), &Estimate::value),
               model.cores_for(enough, &Estimate::value));
  const double threads = model.threads_for(loader);
  Recommendation out;
  if (needs_threads(report, threads)) {
    const std::string line = threads_line(report, threads);
    if (!line.empty()) out.lines.push_back(line);
  }
  if (cpus > model.cpus()) {
    const std::vector<std::string> lines =
        cpus_lines(report.cores, report.tasks, cpus);
    out.lines.insert(out.lines.end(), lines.begin(), lines.end());
  }
  if (out.lines.empty()) return std::nullopt;
  out.reason = reason_of(report, model, loader, cpus);
  out.gain = gain;
  return out;
}

// Growing follows what is expected, shrinking the worst that is.
std::optional<Recommendation> advise_fewer(const JobReport& report) {
  const CoreFigures& cores = report.cores;
  if (!cores.demand || !cores.reserve || !cores.allocated || !report.tasks) {
    return std::nullopt;
  }
  const double loader = cores.demand->high;
  const double trainer = std::max(
      cores.trainer_demand ? cores.trainer_demand->high : 0, *cores.reserve);
  const double tasks = double(report.tasks);
  const int cpus = whole((loader + trainer) / kComfortable / tasks);
  if (cpus * tasks > *cores.allocated - 0.5) return std::nullopt;
  return Recommendation{
      cpus_lines(report.cores, report.tasks, cpus),
      fmt::format("the loader takes at most {:.2f} cores and the trainer "
                  "{:.2f}; Slurm gave {}",
                  loader, trainer, figure_text(cores.allocated)),
      std::nullopt};
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
