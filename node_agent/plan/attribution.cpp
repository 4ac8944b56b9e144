#include "node_agent/plan/attribution.h"

#include <algorithm>

namespace penstock {
namespace {

// Without progress pages, the stall time of the job's threads stands for the
// trainer's waiting time. While its GPUs are busy, the trainer does not wait.
Breakdown without_pages(const TimeSpent& spent) {
  const TimePart unknown{std::nullopt, "the job reports no progress"};
  Breakdown out{.wall_s = spent.wall_s,
                .parts = {unknown, unknown, unknown, unknown}};
  double left_s = std::max(0.0, spent.wall_s);
  if (spent.gpu_busy_s) {
    const double busy_s = std::clamp(*spent.gpu_busy_s, 0.0, left_s);
    out.parts.compute = {
        busy_s,
        "GPUs busy, exchange included (NVML), as the job reports "
        "no progress"};
    left_s -= busy_s;
  }
  const double stalled_s =
      spent.io_pressure_s.value_or(0) + spent.cpu_pressure_s.value_or(0);
  const double scale = stalled_s > left_s ? left_s / stalled_s : 1;
  const auto fill = [&](TimePart& part, const std::optional<double>& seconds) {
    if (!seconds) return;
    part = {*seconds * scale, "PSI some, as the job reports no progress"};
  };
  fill(out.parts.fetch_stall, spent.io_pressure_s);
  fill(out.parts.prep_stall, spent.cpu_pressure_s);
  return make_breakdown(std::move(out));
}

void split_wait(const TimeSpent& spent, Breakdown& out) {
  const double told_s = spent.fetch_s + spent.prep_s;
  const double seen_s = spent.by_kernel.fetch_s + spent.by_kernel.prep_s;
  const auto fill = [&](double fetch_s, double prep_s, const char* how) {
    out.parts.fetch_stall = {fetch_s, how};
    out.parts.prep_stall = {prep_s, how};
  };
  if (told_s > 0) {
    return fill(spent.wait_s * spent.fetch_s / told_s,
                spent.wait_s * spent.prep_s / told_s,
                "time waited, split as the loader's time was spent");
  }
  if (seen_s > 0) {
    // Sums of estimates per observation may exceed the waiting time in the
    // pages.
    const double scale = std::min(1.0, spent.wait_s / seen_s);
    return fill(spent.by_kernel.fetch_s * scale, spent.by_kernel.prep_s * scale,
                "time waited, split by what loader threads were seen at: "
                "disk sleep, or CPU and run delay");
  }
  out.parts.fetch_stall.method = out.parts.prep_stall.method =
      "the loader does not report its time";
}

// A loader that runs on the trainer's CPUs delays the trainer even if the
// trainer never waits for data.
void add_contention(const TimeSpent& spent, Breakdown& out) {
  if (!(spent.contention_s > 0)) return;
  out.contention_s = spent.contention_s;
  TimePart& prep = out.parts.prep_stall;
  const char* how =
      "time in which the trainer waited for a CPU that its own "
      "loader used (run delay)";
  prep.method = prep.seconds ? prep.method + "; " + how : how;
  prep.seconds = prep.seconds.value_or(0) + spent.contention_s;
}

}  // namespace

WaitSplit split_by_kernel(double wait_s, const LoaderTime& loader) {
  const double busy_s = loader.runnable_s + loader.blocked_s;
  if (!(busy_s > 0) || !(wait_s > 0)) return {};
  const double told = std::min(wait_s, busy_s) / busy_s;
  return {loader.blocked_s * told, loader.runnable_s * told};
}

Breakdown attribute(const TimeSpent& spent) {
  if (!spent.reports) return without_pages(spent);
  Breakdown out{.wall_s = spent.wall_s, .waited_s = spent.wait_s};
  out.parts.compute = {
      spent.active_s - spent.wait_s - spent.exchange_s - spent.contention_s,
      "time not waited, as the job reported it"};
  out.parts.exchange_stall.method = "the job reports no exchange";
  if (spent.exchange_s > 0) {
    out.parts.exchange_stall = {spent.exchange_s,
                                "time waited, as the job reported it"};
  }
  split_wait(spent, out);
  add_contention(spent, out);
  return make_breakdown(std::move(out));
}

}  // namespace penstock
