// The fields of every reported struct, each described once for reading and
// writing (wire/field_rule.h). Optional are those that reports of earlier
// versions lack. Private to report/.
#pragma once

#include <algorithm>

#include "report/node_status.h"
#include "report/report.h"
#include "wire/field_rule.h"

namespace penstock {

template <class Visitor, ConstOrNot<Estimate> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("value", it.value);
  visit("low", it.low);
  visit("high", it.high);
  visit.require(it.low <= it.value && it.value <= it.high, "",
                "has an interval that does not hold its value");
}

template <class Visitor, ConstOrNot<Compared> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("predicted", it.predicted);
  visit("predicted_from", it.predicted_from);
  visit("corrected", it.corrected);
  visit("corrected_from", it.corrected_from);
  visit("measured", it.measured);
  visit("measured_by", it.measured_by);
}

template <class Visitor, ConstOrNot<OptionGiven> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("name", it.name);
  visit("value", it.value);
}

template <class Visitor, ConstOrNot<TimePart> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("seconds", it.seconds);
  visit("method", it.method);
}

template <class Visitor, ConstOrNot<Breakdown> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("wall_s", it.wall_s);
  for (const WallPartNames& names : kWallParts) {
    visit(names.key, it.parts[names.part],
          {.optional = names.part == WallPart::kExchangeStall});
  }
  visit("unattributed_s", it.unattributed_s);
  visit("waited_s", it.waited_s);
  visit("contention_s", it.contention_s, {.optional = true});
}

template <class Visitor, ConstOrNot<PressureFigures> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("cpu_s", it.cpu_s);
  visit("io_s", it.io_s);
  visit("method", it.method);
}

template <class Visitor, ConstOrNot<CoresNotLent> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("why", it.why, {kNotLentCount, not_lent_name});
  visit("cores", it.cores);
}

template <class Visitor, ConstOrNot<LentBy> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("job_id", it.job_id);
  visit("cores", it.cores);
}

template <class Visitor, ConstOrNot<CoreFigures> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("node", it.node, {.optional = true});
  visit("job", it.job, {.optional = true});
  visit("allocated", it.allocated);
  visit("reserve", it.reserve);
  visit("entitled", it.entitled);
  visit("requested", it.requested);
  visit("granted_home", it.granted_home);
  visit("granted_away", it.granted_away);
  visit("used_home", it.used_home);
  visit("used_away", it.used_away);
  visit("used_trainer", it.used_trainer);
  visit("demand", it.demand);
  visit("trainer_demand", it.trainer_demand, {.optional = true});
  visit("loader_threads", it.loader_threads);
  visit("loader_kind", it.loader_kind,
        {kLoaderKindCount, loader_kind_name, true});
  visit("launch", it.launch, {kLaunchCount, launch_name, true});
  visit("loader_grows", it.loader_grows, {.optional = true});
  visit("not_lent", it.not_lent, {kNotLentCount, true});
  visit("lent_by", it.lent_by, {kMaxLentBy, true});
}

template <class Visitor, ConstOrNot<GpuFigures> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("count", it.count);
  visit("known", it.known);
  visit("use", it.use);
  visit("longest_idle_s", it.longest_idle_s);
  visit("memory_used_bytes", it.memory_used_bytes);
  visit("memory_bytes", it.memory_bytes);
}

template <class Visitor, ConstOrNot<BandwidthFigures> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("pool", it.pool);
  visit("pool_bytes_per_s", it.pool_bytes_per_s);
  visit("entitled_bytes_per_s", it.entitled_bytes_per_s);
  visit("requested_bytes_per_s", it.requested_bytes_per_s);
  visit("granted_bytes_per_s", it.granted_bytes_per_s);
  visit("used_bytes_per_s", it.used_bytes_per_s);
  visit("demand_bytes_per_s", it.demand_bytes_per_s);
}

template <class Visitor, ConstOrNot<CacheFigures> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("hit_share", it.hit_share);
  visit("hits", it.hits);
  visit("hit_bytes", it.hit_bytes);
  visit("held_share", it.held_share);
  visit("held_bytes", it.held_bytes);
  visit("peer_hits", it.peer_hits, {.optional = true});
  visit("peer_bytes", it.peer_bytes, {.optional = true});
}

template <class Visitor, ConstOrNot<GrantChange> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("time_unix_s", it.time_unix_s);
  visit("cause", it.cause, {kGrantCauseCount, cause_name});
  visit("cores_from", it.cores_from);
  visit("cores_to", it.cores_to);
  visit("away_from", it.away_from);
  visit("away_to", it.away_to);
  visit("bytes_per_s_from", it.bytes_per_s_from);
  visit("bytes_per_s_to", it.bytes_per_s_to);
  visit("rate_before", it.rate_before);
  visit("rate_after", it.rate_after);
}

template <class Visitor, ConstOrNot<DataQuality> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("sample_period_s", it.sample_period_s);
  visit("periods", it.periods);
  visit("gaps", it.gaps);
  visit("samples", it.samples);
  visit("counted", it.counted, {kCountedCount, counted_name, true});
  visit("loader_source", it.loader_source,
        {kLoaderSourceCount, loader_source_name});
  visit("process_events", it.process_events,
        {kProcessEventsCount, process_events_name});
  visit("pages_contradicted", it.pages_contradicted);
  visit("agent_restarts", it.agent_restarts);
}

template <class Visitor, ConstOrNot<RateAtCores> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("cores", it.cores);
  visit("rate", it.rate);
}

template <class Visitor, ConstOrNot<WhatIfCurve> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("unknown", it.unknown);
  visit("basis", it.basis);
  visit("points", it.points, {kMaxWhatIfPoints});
  visit("ceiling", it.ceiling);
  visit("here_cores", it.here_cores);
  visit("here_rate", it.here_rate);
  visit("measured_cores", it.measured_cores);
  visit("enough_cores", it.enough_cores);
  visit("why_not_enough", it.why_not_enough);
  visit("notes", it.notes, {kMaxWhatIfNotes});
  const auto descends = [](const RateAtCores& a, const RateAtCores& b) {
    return a.cores >= b.cores;
  };
  visit.require(std::adjacent_find(it.points.begin(), it.points.end(),
                                   descends) == it.points.end(),
                "", "has points whose cores do not ascend");
}

template <class Visitor, ConstOrNot<WouldHave> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("observed_s", it.observed_s);
  visit("borrowed_cores", it.borrowed_cores);
  visit("lent_cores", it.lent_cores);
  visit("saved_s", it.saved_s);
  visit("unknown", it.unknown);
}

template <class Visitor, ConstOrNot<SlowestRank> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("node", it.node);
  visit("task", it.task);
  visit("process", it.process);
  visit("waited", it.waited);
  visit("mean", it.mean);
  visit("for_storage", it.for_storage);
}

template <class Visitor, ConstOrNot<NodePart> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("node", it.node);
  visit("tasks", it.tasks);
  visit("ranks", it.ranks);
  visit("rate", it.rate);
  visit("breakdown", it.breakdown);
  visit("used_home", it.used_home);
  visit("used_away", it.used_away);
  visit("running", it.running);
  visit("slowest", it.slowest);
}

template <class Visitor, ConstOrNot<LaunchProblem> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("fault", it.fault, {kLaunchFaultCount, launch_fault_name});
  visit("lines", it.lines, {kMaxLaunchLines});
  visit("reason", it.reason);
}

// The timeline has its own JSON form (json_timeline.h).
template <class Visitor, ConstOrNot<JobReport> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("job_id", it.job_id);
  visit("job_name", it.job_name);
  visit("user_id", it.user_id);
  visit("node", it.node);
  visit("start_unix_s", it.start_unix_s);
  visit("end_unix_s", it.end_unix_s);
  visit("updated_unix_s", it.updated_unix_s);
  visit("running", it.running);
  visit("tasks", it.tasks);
  visit("ranks", it.ranks);
  visit("options", it.options, {kMaxReportOptions});
  visit("policy", it.policy);
  visit("ceiling", it.ceiling);
  visit("throughput", it.throughput);
  visit("floor_rate", it.floor_rate);
  visit("breakdown", it.breakdown);
  visit("pressure", it.pressure, {.optional = true});
  visit("cores", it.cores);
  visit("gpus", it.gpus, {.optional = true});
  visit("bandwidth", it.bandwidth);
  visit("cache", it.cache, {.optional = true});
  visit("changes", it.changes, {kMaxGrantChanges});
  visit("changes_dropped", it.changes_dropped);
  visit("quality", it.quality);
  visit("what_if", it.what_if, {.optional = true});
  visit("would_have", it.would_have, {.optional = true});
  visit("launch_problems", it.launch_problems, {kLaunchFaultCount, true});
  visit("slowest_rank", it.slowest_rank, {.optional = true});
  visit("nodes", it.nodes, {kMaxReportNodes, true});
  visit("recommend_after_s", it.recommend_after_s);
  visit("notes", it.notes, {kMaxReportNotes});
}

template <class Visitor, ConstOrNot<LatencyFigures> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("count", it.count);
  visit("p50_ms", it.p50_ms);
  visit("p99_ms", it.p99_ms);
  visit("max_ms", it.max_ms);
}

template <class Visitor, ConstOrNot<PoolStatus> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("name", it.name);
  visit("bandwidth_bytes_per_s", it.bandwidth_bytes_per_s);
  visit("used_bytes_per_s", it.used_bytes_per_s);
  visit("jobs", it.jobs);
}

template <class Visitor, ConstOrNot<NodeStatus> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("node", it.node);
  visit("version", it.version);
  visit("policy", it.policy);
  visit("time_unix_s", it.time_unix_s);
  visit("uptime_s", it.uptime_s);
  visit("agent_cpu_s", it.agent_cpu_s);
  visit("cores", it.cores);
  visit("off_since_unix_s", it.off_since_unix_s);
  visit("idle_not_lent", it.idle_not_lent, {.optional = true});
  visit("rebalance", it.rebalance);
  visit("recall", it.recall);
  visit("launch", it.launch);
  visit("grant", it.grant);
  visit("pools", it.pools, {kMaxStatusPools});
  visit("jobs", it.jobs, {kMaxStatusJobs});
}

template <class Visitor, ConstOrNot<NodeSwitch> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("off_since_unix_s", it.off_since_unix_s);
  visit("jobs", it.jobs);
  visit("not_home", it.not_home);
}

}  // namespace penstock
