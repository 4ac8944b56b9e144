#include "report/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/options.h"
#include "exchange/plan/cost_model.h"
#include "report/core_advice.h"
#include "report/text.h"

namespace penstock {
namespace {

// Smaller gains are not worth an advice.
constexpr double kWorthwhileGain = 0.02;
constexpr size_t kMostAdvice = 3;
constexpr double kAdvisedDensity = 0.01;
constexpr double kMega = 1 << 20;

std::optional<double> share_of(const Breakdown& breakdown,
                               const std::optional<double>& seconds) {
  if (!seconds || !(breakdown.wall_s > 0)) return std::nullopt;
  return *seconds / breakdown.wall_s;
}

std::string percent_or_unknown(const TimePart& part, int percent) {
  return part.seconds ? fmt::format("{}%", percent) : "unknown";
}

double fetch_share(const JobReport& report) {
  return share_of(report.breakdown, report.breakdown.parts.fetch_stall.seconds)
      .value_or(0);
}

// The gain if it never waited for storage.
double gain_without_storage(const JobReport& report) {
  const double fetch = fetch_share(report);
  return fetch / std::max(1e-9, 1 - fetch);
}

// Gain in throughput if a job that reads `used` bytes/s may read `available`.
// most: the gain if it never waited for storage.
Estimate gain_of_bandwidth(double used, double available, double most) {
  constexpr double kReached = 0.9;  // of a limit, at least
  const double gain = available / used - 1;
  if (gain > most) return {most, kLeastOfStall * most, most};
  return {std::max(0.0, gain), std::max(0.0, kReached * (gain + 1) - 1),
          std::max(0.0, gain)};
}

// The share of wall time in which the trainer waits for CPUs that its own
// loader uses; nullopt: too small to mention.
std::optional<double> contention_share(const Breakdown& breakdown) {
  const auto share = share_of(breakdown, breakdown.contention_s);
  return share && *share >= kInputBoundShare ? share : std::nullopt;
}

// Advises a larger bandwidth if the user's own limit holds the job back.
std::optional<Recommendation> advise_bandwidth(const JobReport& report) {
  const BandwidthFigures& bandwidth = report.bandwidth;
  if (!waits_for_storage(report) || !bandwidth.demand_bytes_per_s ||
      !bandwidth.requested_bytes_per_s || !bandwidth.used_bytes_per_s ||
      !(*bandwidth.used_bytes_per_s > 0)) {
    return std::nullopt;
  }
  const double demand = bandwidth.demand_bytes_per_s->value;
  const double wanted =
      std::min(demand, bandwidth.pool_bytes_per_s.value_or(demand));
  if (wanted <= *bandwidth.requested_bytes_per_s) return std::nullopt;
  Recommendation out;
  out.lines = {bandwidth_line(wanted)};
  out.reason = fmt::format(
      "the ceiling reads about {:.0f}M a second, and the job asked for {:.0f}M",
      std::ceil(demand / kMega), *bandwidth.requested_bytes_per_s / kMega);
  if (wanted < demand) {
    out.reason += fmt::format("; the pool has {:.0f}M", wanted / kMega);
  }
  // What exceeds the entitlement depends on the other jobs.
  const double available =
      std::min(wanted, bandwidth.entitled_bytes_per_s.value_or(wanted));
  out.gain = gain_of_bandwidth(*bandwidth.used_bytes_per_s, available,
                               gain_without_storage(report));
  if (out.gain->value < kWorthwhileGain) return std::nullopt;
  return out;
}

// Advises a cache for the whole data set if the job waits for storage.
std::optional<Recommendation> advise_cache(const JobReport& report) {
  const CacheFigures& cache = report.cache;
  if (!waits_for_storage(report) || !cache.held_share || !cache.held_bytes ||
      !(*cache.held_share > 0) || *cache.held_share >= 1) {
    return std::nullopt;
  }
  const double all_mega =
      std::ceil(*cache.held_bytes / *cache.held_share / kMega);
  Recommendation out;
  out.lines = {fmt::format("--cache={:.0f}M", all_mega)};
  out.reason = fmt::format(
      "the loader's cache holds {:.0f}% of the data set, and reads the rest "
      "from storage in every epoch; one of this size holds all",
      *cache.held_share * 100);
  // The first epoch's misses are part of the fetch stall, and no cache avoids
  // them.
  const double most = gain_without_storage(report);
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
  out.lines = {fmt::format(
      "penstock.exchange.MirrorTrainer(model, optimizer, density={})",
      kAdvisedDensity)};
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
  if (report.quality.loader_source != LoaderSource::kNone ||
      cores.loader_kind == LoaderKind::kTrainer || !cores.allocated ||
      cores.used_trainer.value_or(0) < kBusy * *cores.allocated) {
    return std::nullopt;
  }
  Recommendation out;
  out.lines = {"#SBATCH " + option_flag(kOptionMatch) + "=PATTERN"};
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
  if (report.slowest) return report.slowest->verdict;
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

DataWaits data_waits(const Breakdown& breakdown) {
  return {breakdown.parts.prep_stall.seconds,
          breakdown.parts.fetch_stall.seconds};
}

bool waits_for_storage(const JobReport& report) {
  return fetch_share(report) >= kInputBoundShare;
}

std::string bandwidth_line(double bytes_per_s) {
  return fmt::format("#SBATCH {}={:.0f}M", option_flag(kOptionBw),
                     std::ceil(bytes_per_s / kMega));
}

std::vector<Recommendation> recommend(const JobReport& report) {
  if (report.slowest) return report.slowest->recommendations;
  std::vector<Recommendation> out;
  if (report.run_s() < report.recommend_after_s ||
      report.quality.pages_contradicted) {
    return out;
  }
  if (auto advice = advise_match(report)) out.push_back(*std::move(advice));
  if (!report.breakdown.waited_s) return out;
  for (auto advise :
       {advise_cores, advise_bandwidth, advise_cache, advise_exchange}) {
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

std::vector<LaunchProblem> further_problems(const JobReport& report) {
  const std::vector<Recommendation> advised = recommend(report);
  std::vector<LaunchProblem> out;
  for (const LaunchProblem& problem : report.launch_problems) {
    const bool is_advised = std::any_of(
        advised.begin(), advised.end(),
        [&](const Recommendation& it) { return it.lines == problem.lines; });
    if (!is_advised) out.push_back(problem);
  }
  return out;
}

}  // namespace penstock
