#include "report/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/options.h"
#include "exchange/plan/cost_model.h"
#include "report/text.h"

namespace penstock {
namespace {

// Smaller gains and savings are not worth an advice.
constexpr double kWorthwhileGain = 0.02;
constexpr double kWorthwhileCores = 0.5;
constexpr size_t kMostAdvice = 3;
constexpr int kMostPerTask = 4096;  // limit of the options
constexpr double kAdvisedDensity = 0.01;

std::optional<double> share_of(const Breakdown& breakdown,
                               const std::optional<double>& seconds) {
  if (!seconds || !(breakdown.wall_s > 0)) return std::nullopt;
  return *seconds / breakdown.wall_s;
}

std::string percent_or_unknown(const TimePart& part, int percent) {
  return part.seconds ? fmt::format("{}%", percent) : "unknown";
}

// Gain in throughput if `available` of a resource is granted. `stall` is the
// share of wall time lost for want of it; `demand` is what removes the stall
// completely.
Estimate gain_without(double stall, double available, const Estimate& demand) {
  double most = stall / std::max(1e-9, 1 - stall);
  auto reached = [&](double needed) {
    double part = needed > 0 ? std::min(1.0, available / needed) : 1.0;
    return std::clamp((1 + most) * part - 1, 0.0, most);
  };
  return {reached(demand.value), reached(demand.high), reached(demand.low)};
}

// Whole CPUs per task that hold `cores` of the node. An excess of a twentieth
// of a CPU is ignored.
int whole_per_task(double cores, uint32_t tasks) {
  double whole = std::ceil(cores / tasks - 0.05);
  return static_cast<int>(std::clamp(whole, 1.0, double{kMostPerTask}));
}

// The share of wall time lost for want of CPU; nullopt: unknown. If the split
// of the stall is unknown, a job that waits while its loader uses all granted
// cores is short of CPU.
std::optional<double> cpu_stall(const JobReport& report) {
  constexpr double kFullyUsed = 0.9;
  const Breakdown& breakdown = report.breakdown;
  const CoreFigures& cores = report.cores;
  if (breakdown.parts.prep_stall.seconds ||
      breakdown.parts.fetch_stall.seconds) {
    return share_of(breakdown, breakdown.parts.prep_stall.seconds);
  }
  std::optional<double> waited = share_of(breakdown, breakdown.waited_s);
  if (waited && *waited < kInputBoundShare) return waited;
  double granted =
      cores.granted_home.value_or(0) + cores.granted_away.value_or(0);
  double used = cores.used_home.value_or(0) + cores.used_away.value_or(0);
  return granted > 0 && used >= kFullyUsed * granted ? waited : std::nullopt;
}

// The share of wall time in which the trainer waits for CPUs that its own
// loader uses; nullopt: too small to mention.
std::optional<double> contention_share(const Breakdown& breakdown) {
  const auto share = share_of(breakdown, breakdown.contention_s);
  return share && *share >= kInputBoundShare ? share : std::nullopt;
}

// Cores that the trainer needs: the reserve. If its loader kept it off its
// CPUs, scale its use up to the time without that wait.
double trainer_cores(const JobReport& report) {
  const double reserve = report.cores.reserve.value_or(0);
  const Breakdown& breakdown = report.breakdown;
  const double compute_s = breakdown.parts.compute.seconds.value_or(0);
  if (!contention_share(breakdown) || !(compute_s > 0)) return reserve;
  return std::max(reserve, report.cores.used_trainer.value_or(0) *
                               (1 + *breakdown.contention_s / compute_s));
}

struct Facts {
  double tasks, allocated, reserve;
  Estimate demand;
};

std::optional<Facts> core_facts(const JobReport& report) {
  const CoreFigures& cores = report.cores;
  if (!cores.demand || !cores.allocated || !cores.reserve || !report.tasks) {
    return std::nullopt;
  }
  return Facts{static_cast<double>(report.tasks), *cores.allocated,
               trainer_cores(report), *cores.demand};
}

// Advises more or fewer CPUs per task to reach the ceiling.
std::optional<Recommendation> advise_cpus(const JobReport& report) {
  std::optional<Facts> facts = core_facts(report);
  if (!facts) return std::nullopt;
  std::optional<double> stall = cpu_stall(report);
  if (!stall) return std::nullopt;
  bool starved = *stall >= kInputBoundShare;
  const Estimate& demand = facts->demand;
  // Growing follows the expected demand, shrinking the highest possible demand.
  double needed = (starved ? demand.value : demand.high) + facts->reserve;
  int per_task = whole_per_task(needed, report.tasks);
  double total = per_task * facts->tasks;
  bool grow = starved && total > facts->allocated + kWorthwhileCores;
  bool shrink = !starved && total < facts->allocated - kWorthwhileCores;
  if (!grow && !shrink) return std::nullopt;
  Recommendation out;
  out.line = fmt::format("#SBATCH --cpus-per-task={}", per_task);
  out.reason = fmt::format(
      "the ceiling needs {} {:.2f} loader cores and the trainer {:.2f}; Slurm "
      "gave {:.2f}",
      grow ? "about" : "at most", grow ? demand.value : demand.high,
      facts->reserve, facts->allocated);
  if (const auto share = contention_share(report.breakdown)) {
    out.reason += fmt::format(
        ", where the trainer waits {:.0f}% of the time for a CPU that its own "
        "loader uses",
        *share * 100);
  }
  if (grow) out.gain = gain_without(*stall, total - facts->reserve, demand);
  return out;
}

// An unmodified program's number of workers is a number in its text.
void name_workers(const JobReport& report, int per_task, Recommendation& out) {
  out.line = fmt::format("num_workers={}", per_task);
  out.reason = fmt::format(
      "the DataLoader's {:.0f} workers hold this job back, {} would feed it: "
      "the ceiling needs about {:.2f} loader cores, and a grant never exceeds "
      "the workers; with {}=exact those beyond a smaller grant only wait",
      std::max(1.0, *report.cores.loader_threads / report.tasks), per_task,
      report.cores.demand->value, option_flag(kOptionElastic));
}

// Advises more loader threads if too few ran to use the job's own cores.
std::optional<Recommendation> advise_threads(const JobReport& report) {
  const CoreFigures& cores = report.cores;
  std::optional<double> stall = cpu_stall(report);
  if (!stall || *stall < kInputBoundShare || !cores.demand || !cores.entitled ||
      !cores.loader_threads || !report.tasks) {
    return std::nullopt;
  }
  int per_task = whole_per_task(cores.demand->value, report.tasks);
  if (1.0 * per_task * report.tasks <= *cores.loader_threads) {
    return std::nullopt;
  }
  // A limit of loader threads under the task's CPUs would leave the trainer
  // only the rest, so the rest must hold the reserve.
  const double cpus = cores.allocated.value_or(0) / report.tasks;
  const double reserve = cores.reserve.value_or(0) / report.tasks;
  if (per_task < cpus && cpus - per_task < reserve) per_task = int(cpus);
  double granted =
      cores.granted_home.value_or(0) + cores.granted_away.value_or(0);
  Recommendation out;
  if (report.quality.counted == Counted::kHook) {
    name_workers(report, per_task, out);
  } else {
    out.line =
        fmt::format("#SBATCH {}={}", option_flag(kOptionThreads), per_task);
    out.reason = fmt::format(
        "the ceiling needs about {:.2f} loader cores, and no more than {:.0f} "
        "loader threads ran at once; a grant never exceeds them",
        cores.demand->value, *cores.loader_threads);
  }
  // Count only cores that the job is entitled to or was granted. Further
  // borrowed cores are the upper end of the interval.
  out.gain =
      gain_without(*stall, std::max(*cores.entitled, granted), *cores.demand);
  out.gain->high = *stall / std::max(1e-9, 1 - *stall);
  return out;
}

// Advises a larger bandwidth if the user's own limit holds the job back.
std::optional<Recommendation> advise_bandwidth(const JobReport& report) {
  const BandwidthFigures& bandwidth = report.bandwidth;
  std::optional<double> fetch =
      share_of(report.breakdown, report.breakdown.parts.fetch_stall.seconds);
  if (!fetch || *fetch < kInputBoundShare || !bandwidth.demand_bytes_per_s ||
      !bandwidth.requested_bytes_per_s) {
    return std::nullopt;
  }
  const Estimate& demand = *bandwidth.demand_bytes_per_s;
  if (demand.value <= *bandwidth.requested_bytes_per_s) return std::nullopt;
  constexpr double kMega = 1 << 20;
  double wanted_mega = std::ceil(demand.value / kMega);
  Recommendation out;
  out.line =
      fmt::format("#SBATCH {}={:.0f}M", option_flag(kOptionBw), wanted_mega);
  out.reason = fmt::format(
      "the ceiling reads about {:.0f}M a second, and the job asked for {:.0f}M",
      wanted_mega, *bandwidth.requested_bytes_per_s / kMega);
  out.gain = gain_without(
      *fetch, bandwidth.entitled_bytes_per_s.value_or(demand.value), demand);
  if (out.gain->value < kWorthwhileGain) return std::nullopt;
  return out;
}

// Advises a cache for the whole data set if the job waits for storage.
std::optional<Recommendation> advise_cache(const JobReport& report) {
  const CacheFigures& cache = report.cache;
  const std::optional<double> fetch =
      share_of(report.breakdown, report.breakdown.parts.fetch_stall.seconds);
  if (!fetch || *fetch < kInputBoundShare || !cache.held_share ||
      !cache.held_bytes || !(*cache.held_share > 0) || *cache.held_share >= 1) {
    return std::nullopt;
  }
  constexpr double kMega = 1 << 20;
  const double all_mega =
      std::ceil(*cache.held_bytes / *cache.held_share / kMega);
  Recommendation out;
  out.line = fmt::format("--cache={:.0f}M", all_mega);
  out.reason = fmt::format(
      "the loader's cache holds {:.0f}% of the data set, and reads the rest "
      "from storage in every epoch; one of this size holds all",
      *cache.held_share * 100);
  // The first epoch's misses are part of the fetch stall, and no cache avoids
  // them.
  const double most = *fetch / std::max(1e-9, 1 - *fetch);
  out.gain = Estimate{most, 0, most};
  return out;
}

// Link traffic of a sparse exchange over that of a dense one. It depends
// neither on the ranks nor on the elements nor on the bandwidth.
double sparse_share(double density) {
  constexpr exchange::ExchangeCosts kOnlyLink{.byte_s = 1};
  const exchange::ExchangeSize size{1'000'000, 8, density};
  return exchange_s(exchange::Method::kTwoPhase, size, kOnlyLink) /
         exchange_s(exchange::Method::kDense, size, kOnlyLink);
}

// Advises a sparser exchange if it is the largest stall. The remaining stall is
// at most proportional to the traffic, because the part hidden behind the
// backward pass stays hidden.
std::optional<Recommendation> advise_exchange(const JobReport& report) {
  const Breakdown& breakdown = report.breakdown;
  const std::optional<double> stall =
      share_of(breakdown, breakdown.parts.exchange_stall.seconds);
  if (!stall || *stall < kInputBoundShare ||
      *breakdown.parts.exchange_stall.seconds <
          std::max({breakdown.parts.fetch_stall.seconds.value_or(0),
                    breakdown.parts.prep_stall.seconds.value_or(0),
                    breakdown.waited_s.value_or(0)})) {
    return std::nullopt;
  }
  const double carried = sparse_share(kAdvisedDensity);
  const double gone = *stall * (1 - carried);
  const double gain = gone / std::max(1e-9, 1 - gone);
  Recommendation out;
  out.line = fmt::format(
      "penstock.exchange.MirrorTrainer(model, optimizer, density={})",
      kAdvisedDensity);
  out.reason = fmt::format(
      "ranks wait {:.0f}% of the time for the exchange of gradients; at "
      "density "
      "{:.0f}% links carry {:.1f}% of what they do in a dense one, and the "
      "loader then has to supply up to {:.2f} times as much",
      *stall * 100, kAdvisedDensity * 100, carried * 100, 1 + gain);
  // Waits for a slower rank, or for latency, remain.
  out.gain = Estimate{gain, 0, gain};
  return out;
}

// Advises a pattern for a busy job whose loader was not recognised,
// because such a job can never borrow CPUs.
std::optional<Recommendation> advise_match(const JobReport& report) {
  constexpr double kBusy = 0.5;  // share of its CPUs
  const CoreFigures& cores = report.cores;
  if (report.quality.loader_source != LoaderSource::kNone || !cores.allocated ||
      cores.used_trainer.value_or(0) < kBusy * *cores.allocated) {
    return std::nullopt;
  }
  Recommendation out;
  out.line = "#SBATCH " + option_flag(kOptionMatch) + "=PATTERN";
  out.reason =
      "no loader could be told apart, so the job never borrows CPUs; PATTERN "
      "tells it by the name of its threads (ps -Lo comm) or the command line "
      "of its processes";
  for (const OptionGiven& option : report.options) {
    if (option.name != option_spec(kOptionMatch).name) continue;
    out.reason += ", and " + option.value + " matches none";
  }
  return out;
}

std::string shares_text(const Breakdown& breakdown,
                        const std::array<int, kBreakdownParts>& shares) {
  std::string contention;
  if (const auto share = contention_share(breakdown)) {
    contention = fmt::format(
        ", of it {:.0f}% CPU contention of trainer and loader", *share * 100);
  }
  return fmt::format("(fetch {}, prep {}{})",
                     percent_or_unknown(breakdown.parts.fetch_stall, shares[1]),
                     percent_or_unknown(breakdown.parts.prep_stall, shares[2]),
                     contention);
}

const char* bound_by(const Breakdown& breakdown, int waits_percent) {
  if (waits_percent >= kInputBoundShare * 100) return "Input-bound";
  const double compute_s = breakdown.parts.compute.seconds.value_or(0);
  const double exchange_s = breakdown.parts.exchange_stall.seconds.value_or(0);
  if (compute_s + exchange_s < 0.5 * breakdown.wall_s) return "Not input-bound";
  return compute_s >= exchange_s ? "Compute-bound" : "Exchange-bound";
}

// The kernel's figures say that some thread was held up, but not that the
// trainer waited for it. So they give neither a verdict nor advice.
std::string without_waiting_told(const JobReport& report) {
  std::string text =
      "No verdict: the job did not report how long it waited for data";
  const double wall_s = report.breakdown.wall_s;
  const auto fetch = ratio(report.pressure.io_s, wall_s);
  const auto prep = ratio(report.pressure.cpu_s, wall_s);
  if (!fetch || !prep) return text;
  return text + fmt::format(
                    "; threads of it were held up by I/O {} of the time, by "
                    "want of CPU {}",
                    share_text(fetch), share_text(prep));
}

}  // namespace

std::string verdict(const JobReport& report) {
  const Breakdown& breakdown = report.breakdown;
  if (!(breakdown.wall_s > 0)) return "No verdict: nothing was measured";
  const auto shares = rounded_shares(breakdown, 100);
  bool split =
      breakdown.parts.fetch_stall.seconds || breakdown.parts.prep_stall.seconds;
  std::optional<double> waited = share_of(breakdown, breakdown.waited_s);
  if (!waited) return without_waiting_told(report);
  int percent = shares[1] + shares[2];
  std::string parts = shares_text(breakdown, shares);
  // If part of the wait has no known cause, report the whole wait.
  const double held_up = *waited + contention_share(breakdown).value_or(0);
  int waited_percent = static_cast<int>(std::lround(held_up * 100));
  if (waited_percent > percent + 1 || !split) {
    percent = waited_percent;
    if (!split) parts = "(fetch and prep not told apart)";
  }
  const char* what = contention_share(breakdown)
                         ? "data, or for CPUs that the loader uses"
                         : "data";
  std::string text =
      fmt::format("{}: {}% of step time waits for {} {}",
                  bound_by(breakdown, percent), percent, what, parts);
  if (!breakdown.parts.exchange_stall.seconds) return text;
  return text + fmt::format(", {}% for gradient exchange", shares[3]);
}

std::vector<Recommendation> recommend(const JobReport& report) {
  std::vector<Recommendation> out;
  if (report.run_s() < report.recommend_after_s ||
      report.quality.pages_contradicted) {
    return out;
  }
  if (auto advice = advise_match(report)) out.push_back(*std::move(advice));
  if (!report.breakdown.waited_s) return out;
  for (auto advise : {advise_threads, advise_cpus, advise_bandwidth,
                      advise_cache, advise_exchange}) {
    if (auto advice = advise(report)) out.push_back(*std::move(advice));
  }
  auto value = [](const Recommendation& advice) {
    return advice.gain ? advice.gain->value : 0.0;
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](const Recommendation& a, const Recommendation& b) {
                     return value(a) > value(b);
                   });
  if (out.size() > kMostAdvice) out.resize(kMostAdvice);
  return out;
}

}  // namespace penstock
