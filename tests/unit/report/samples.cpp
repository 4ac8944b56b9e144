#include "samples.h"

#include <algorithm>

namespace penstock::samples {
namespace {

constexpr double kStart = 1767225600;  // 2026-01-01 00:00:00 UTC
constexpr double kMega = 1 << 20;

std::vector<GrantChange> three_changes() {
  GrantChange first{kStart + 0.2, GrantCause::kTaskStart};
  first.cores_from = 0;
  first.cores_to = 0.9;
  first.away_from = first.away_to = 0;
  first.bytes_per_s_to = 25 * kMega;
  GrantChange more{kStart + 61.25, GrantCause::kJobEnd};
  more.cores_from = 0.9;
  more.cores_to = 1.9;
  more.away_from = 0;
  more.away_to = 1;
  more.bytes_per_s_from = 25 * kMega;
  more.bytes_per_s_to = 50 * kMega;
  more.rate_before = 210;
  more.rate_after = 410;
  GrantChange recall{kStart + 290, GrantCause::kRecall};
  recall.cores_from = 1.9;
  recall.cores_to = 0.9;
  recall.away_from = 1;
  recall.away_to = 0;
  recall.bytes_per_s_from = recall.bytes_per_s_to = 50 * kMega;
  return {first, more, recall};
}

// Periods of twelve seconds, without two that were missed after the recall.
std::vector<TimelinePoint> course() {
  std::vector<TimelinePoint> out;
  for (int i = 0; i < 26; ++i) {
    const bool lent = i >= 5 && i < 24;
    TimelinePoint point{kStart + 12 * i, 12};
    if (i == 25) point = {kStart + 302, 10};
    point.granted_home_cores = 0.9;
    point.granted_away_cores = lent ? 1 : 0;
    point.used_home_cores = (875 - 5 * (i % 3)) / 1000.0;
    point.used_away_cores = lent ? (95 - 5 * (i % 2)) / 100.0 : 0;
    point.used_trainer_cores = 0.09;
    point.granted_bytes_per_s = lent ? 5e7 : 2.5e7;
    point.used_bytes_per_s = lent ? 3.5e7 + 1e6 * (i % 4) : 1.5e7;
    if (i > 0) {  // its first batch came late
      point.rate = lent ? 610 + 4 * (i % 5) : 250;
      point.predicted_rate = lent ? 640 : 260;
      point.shares.compute = lent ? 0.75 : 0.25;
      point.shares.fetch_stall = lent ? 0.15 : 0.5;
      point.shares.prep_stall = lent ? 0.0625 : 0.125;
    }
    out.push_back(point);
  }
  return out;
}

// 235 samples/s a core up to the ceiling; measured up to 2 cores.
WhatIfCurve curve() {
  WhatIfCurve out;
  out.basis = "profile alexnet, measured at 0.25 to 2 loader cores of a rank";
  for (double cores : {0.0, 0.9, 1.63, 2.0, 3.2, 3.492, 4.0, 4.365}) {
    const auto at = [&](double per_core, double ceiling) {
      return std::min(per_core * cores, ceiling);
    };
    out.points.push_back(
        {cores, {at(235, 846), at(211.5, 840), at(258.5, 852)}});
  }
  out.ceiling = 846;
  out.here_cores = 1.63;
  out.here_rate = 584;
  out.measured_cores = 2;
  out.enough_cores = 3.492;
  out.notes = {"What storage supplies is not known: it limits nothing here."};
  return out;
}

}  // namespace

JobReport input_bound() {
  JobReport out;
  out.job_id = 4711;
  out.job_name = "alexnet";
  out.user_id = 1000;
  out.node = "c1";
  out.start_unix_s = kStart;
  out.end_unix_s = out.updated_unix_s = kStart + 312;
  out.tasks = 1;
  out.ranks = 1;
  out.options = {{"loader", "auto"}, {"loader-threads", "2"}};
  out.policy = "throughput";
  out.ceiling = {Estimate{812, 650, 930}, "profile alexnet",
                 Estimate{850, 830, 870}, "measured 12 s",
                 Estimate{846, 840, 852}, "one batch replayed"};
  out.throughput = {
      Estimate{560, 500, 600}, "the grant and the profile", std::nullopt, "",
      Estimate::exact(584),    "the job's own count"};
  out.floor_rate = 210;
  out.breakdown = make_breakdown(
      {.wall_s = 312,
       .parts = {.compute = {215.28, "what is left of a step"},
                 .fetch_stall = {68.64, "time waited, split by I/O"},
                 .prep_stall = {28.08, "time waited, split by CPU"},
                 .exchange_stall = {std::nullopt, "no exchange reported"}},
       .waited_s = 96.72});
  out.pressure = {127.9, 87.4, "PSI some"};
  out.cores = {.node = 8,
               .allocated = 1,
               .reserve = 0.1,
               .entitled = 0.9,
               .requested = 2,
               .granted_home = 0.9,
               .granted_away = 0.73,
               .used_home = 0.88,
               .used_away = 0.71,
               .used_trainer = 0.09,
               .demand = Estimate{3.6, 3.2, 4.0},
               .trainer_demand = Estimate{0.13, 0.12, 0.14},
               .loader_threads = 2,
               .loader_kind = LoaderKind::kThreads,
               .loader_grows = true};
  out.bandwidth = {"scratch",
                   100 * kMega,
                   50 * kMega,
                   25 * kMega,
                   25 * kMega,
                   24.9 * kMega,
                   Estimate{36.2 * kMega, 30 * kMega, 40 * kMega}};
  out.changes = three_changes();
  out.timeline = course();
  out.what_if = curve();
  out.quality = {1.0,
                 312,
                 2,
                 182208,
                 Counted::kProgram,
                 LoaderSource::kRegistered,
                 ProcessEvents::kConnector};
  out.notes = {"the accelerator is emulated: a timed wait per step"};
  return out;
}

JobReport wasteful() {
  JobReport out = input_bound();
  out.job_id = 4712;
  out.job_name = "transformer";
  out.tasks = 2;
  out.ranks = 2;
  out.breakdown = make_breakdown(
      {.wall_s = 300,
       .parts = {.compute = {297, "what is left of a step"},
                 .fetch_stall = {3.0, "time waited, split by I/O"},
                 .prep_stall = {0.0, "time waited, split by CPU"}},
       .waited_s = 3.0});
  out.cores.allocated = 8;
  out.cores.reserve = 0.4;
  out.cores.entitled = 7.6;
  out.cores.demand = Estimate{2.5, 2.3, 2.7};
  out.cores.granted_away = out.cores.used_away = 0;
  out.gpus = {2, 2, 0.63, 125, 31.2e9, 80e9};
  out.slowest_rank = SlowestRank{"c1", 1, 0, 0.12, 0.06, true};
  out.bandwidth = {};
  out.changes.clear();
  out.timeline.clear();
  out.what_if->points.clear();
  out.what_if->unknown = "the ceiling is not known";
  out.would_have = WouldHave{.observed_s = 240,
                             .borrowed_cores = 0.5,
                             .lent_cores = 1.25,
                             .saved_s = Estimate{2, 1, 3},
                             .unknown = ""};
  return out;
}

JobReport exchange_bound() {
  JobReport out = wasteful();
  out.job_id = 4714;
  out.job_name = "bert";
  out.breakdown = make_breakdown(
      {.wall_s = 300,
       .parts = {.compute = {200, "time not waited, as the job reported it"},
                 .fetch_stall = {3.0, "time waited, split by I/O"},
                 .prep_stall = {3.0, "time waited, split by CPU"},
                 .exchange_stall = {90.0,
                                    "time waited, as the job reported it"}},
       .waited_s = 6.0});
  out.cores.allocated.reset();  // they are unknown
  out.would_have->saved_s.reset();
  out.would_have->unknown = "the ceiling is not known";
  return out;
}

JobReport unknown() {
  JobReport out;
  out.job_id = 4713;
  out.job_name = "train.sh";
  out.node = "c1";
  out.start_unix_s = kStart;
  out.updated_unix_s = kStart + 45;
  out.running = true;
  out.tasks = 1;
  out.ranks = 1;
  out.policy = "throughput";
  out.breakdown = make_breakdown({.wall_s = 45});
  out.launch_problems = {{LaunchFault::kStepCpus,
                          {"srun --cpus-per-task=4"},
                          "srun took 1 of the 4 CPUs that the job has here"}};
  out.quality.loader_source = LoaderSource::kNone;
  out.quality.process_events = ProcessEvents::kPolling;
  return out;
}

JobReport hostile() {
  JobReport out = unknown();
  out.job_id = 4294967295u;
  out.job_name = "\033[2J\n\"quoted\"\xff\xc3\xa9 " + std::string(300, 'x');
  out.options = {{"loader-match", "\r\033]0;title\a"}};
  out.notes = {std::string(1000, 'n')};
  return out;
}

NodeStatus node() {
  NodeStatus out;
  out.node = "c1";
  out.version = "0.1.0";
  out.policy = "throughput";
  out.time_unix_s = kStart + 400;
  out.uptime_s = 7500;
  out.agent_cpu_s = 15;
  out.cores = 8;
  out.rebalance = {12, 4.1, 9.6, 9.6};
  out.launch = {40, 0.8, 1.9, 2.0};
  out.grant = {7, 12.5, 80, 81};
  out.pools = {{"scratch", 100 * kMega, 75 * kMega, 2}};
  out.jobs = {input_bound(), wasteful(), unknown(), hostile()};
  for (JobReport& job : out.jobs) {
    job.timeline.clear();
    job.what_if.reset();
  }
  return out;
}

NodeMetrics metrics() {
  NodeMetrics out;
  out.status = node();
  out.latency_sums = {50.5, 0, 36, 130};
  out.lent_cores = 1;
  out.idle_cores = 2;
  out.jobs.resize(out.status.jobs.size());
  for (size_t i = 0; i < out.jobs.size(); ++i) {
    out.jobs[i].counters.wall_s = wall_parts_s(out.status.jobs[i].breakdown);
  }
  JobMetrics& waiting = out.jobs[0];
  waiting.granted_home_cores = 0.9;
  waiting.granted_away_cores = 1;
  waiting.granted_bytes_per_s = 50 * kMega;
  waiting.rate = 590.25;
  waiting.counters.home_cpu_s = 274.56;
  waiting.counters.away_cpu_s = 221.52;
  waiting.counters.trainer_cpu_s = 28.08;
  waiting.counters.samples = 182208;
  waiting.counters.read_bytes = 7768.8 * kMega;
  const auto count = [&](GrantCause cause) -> uint64_t& {
    return waiting.counters.changes[static_cast<size_t>(cause)];
  };
  count(GrantCause::kTaskStart) = count(GrantCause::kJobEnd) = 1;
  count(GrantCause::kRecall) = 1;
  out.jobs[1].granted_home_cores = 7.6;
  out.jobs[1].gpus = 2;
  out.jobs[1].counters.gpu_busy_s = 270;
  out.jobs[1].imagined_borrowed_cores = 0.5;
  out.jobs[1].imagined_lent_cores = 1.5;
  out.jobs[1].counters.wall_s = {291, 3, 0, 6, 0};
  return out;
}

}  // namespace penstock::samples
