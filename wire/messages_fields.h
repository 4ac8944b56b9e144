// The fields of the messages between agents and controllers, each described
// once for reading and writing. Private to wire/.
#pragma once

#include "wire/bounds.h"
#include "wire/field_rule.h"
#include "wire/messages.h"

namespace penstock {

inline constexpr size_t kMaxMessageTextBytes = 64;

template <class Visitor, ConstOrNot<RunTotals> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  for (const RunField& field : kRunFields) {
    visit(field.name, field.of(it),
          {.low = 0, .high = field.most, .omit_default = true});
  }
  visit.require(adds_up(it), "wall_s", "what compute and the stalls take");
}

template <class Visitor, ConstOrNot<JobPart> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  using namespace bounds;  // NOLINT: of this function's numbers
  visit("id", it.id, {1, UINT32_MAX});
  visit("uid", it.uid);
  visit("name", it.name, {kMaxMessageTextBytes});
  visit("started_unix_s", it.started_unix_s, {0, kMaxSeconds});
  visit("ranks", it.ranks, {kLeast, kMaxRanks});
  visit("shares", it.shares, {kLeast, kMaxRanks});
  visit("weight", it.weight, {kLeast, kMaxWeight});
  visit("in_cores", it.in_cores);
  visit("ceiling", it.ceiling, {kLeast, kMaxRate});
  visit("loader_cpu_s_per_sample", it.loader_cpu_s_per_sample,
        {it.in_cores ? 0 : kLeast, kMaxCost_s});
  visit("storage_bytes_per_sample", it.storage_bytes_per_sample,
        {0, kMaxBytes});
  visit("pool", it.pool, {kMaxMessageTextBytes});
  visit("entitled_cores", it.entitled_cores, {0, kMaxCores});
  visit("max_cores", it.max_cores, {0, kMaxLoaderCores});
  visit("max_bytes_per_s", it.max_bytes_per_s, {0, kMaxBytes});
  visit("on_entitlement", it.on_entitlement);
  visit("pool_pressed", it.pool_pressed);
  visit("is_measured", it.is_measured);
  // Older senders leave these out.
  visit("model", it.model, {kMaxMessageTextBytes, /*optional=*/true});
  visit("batch", it.batch, {.optional = true});
  visit("trainer_reserve_cores", it.trainer_reserve_cores,
        {0, kMaxCores, /*optional=*/true});
  visit("mean_rate", it.mean_rate, {0, kMaxRate, /*optional=*/true});
  visit("grant_changes", it.grant_changes, {.optional = true});
  visit("run", it.run, {.optional = true, .omit_default = true});
}

template <class Visitor, ConstOrNot<NodeHello> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("cpus", it.cpus, {0, bounds::kMaxCores});
  visit("loader_cores", it.loader_cores, {0, bounds::kMaxCores});
  visit("term", it.term, {0, bounds::kMaxTerm});
  visit("silence_s", it.silence_s, {0, bounds::kMaxSeconds});
  visit("parts", it.parts, {.most = kMaxParts, .name = "part"});
}

template <class Visitor, ConstOrNot<JobChanged> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("loader_cores", it.loader_cores, {0, bounds::kMaxCores});
  visit("part", it.part);
}

template <class Visitor, ConstOrNot<JobEnded> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("loader_cores", it.loader_cores, {0, bounds::kMaxCores});
  visit("id", it.id, {1, UINT32_MAX});
  visit("last", it.last, {.omit_default = true, .name = "part"});
}

template <class Visitor, ConstOrNot<Heartbeat> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("loader_cores", it.loader_cores, {0, bounds::kMaxCores});
  visit("term", it.term, {0, bounds::kMaxTerm});
  visit("version", it.version);
  visit("silence_s", it.silence_s, {0, bounds::kMaxSeconds});
}

template <class Visitor, ConstOrNot<Refused> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("term", it.term, {0, bounds::kMaxTerm});
  visit("version", it.version);
  visit("highest_term", it.highest_term, {0, bounds::kMaxTerm});
}

template <class Visitor, ConstOrNot<EarlierFigures> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  using namespace bounds;  // NOLINT: of this function's numbers
  visit("ceiling", it.ceiling, {kLeast, kMaxRate});
  visit("loader_cpu_s_per_sample", it.loader_cpu_s_per_sample, {0, kMaxCost_s});
  visit("trainer_cpu_s_per_sample", it.trainer_cpu_s_per_sample,
        {0, kMaxCost_s});
  visit("storage_bytes_per_sample", it.storage_bytes_per_sample,
        {0, kMaxBytes});
  visit("relative_error", it.relative_error, {0, kMaxRelativeError});
}

template <class Visitor, ConstOrNot<JobGrant> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("id", it.id, {1, UINT32_MAX});
  visit("floor", it.floor, {0, bounds::kMaxRate});
  visit("rate", it.rate, {0, bounds::kMaxRate});
  visit("earlier", it.earlier, {.omit_default = true});
}

template <class Visitor, ConstOrNot<PoolGrant> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  using namespace bounds;  // NOLINT: of this function's numbers
  visit("name", it.name, {kMaxMessageTextBytes});
  visit("bytes_per_s", it.bytes_per_s, {0, kMaxBytes});
  visit("node_shares", it.node_shares, {0, kMaxRanks});
  visit("all_shares", it.all_shares, {0, 1e12});
  visit("bandwidth_bytes_per_s", it.bandwidth_bytes_per_s, {kLeast, kMaxBytes});
}

template <class Visitor, ConstOrNot<NodeGrant> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("term", it.term, {1, bounds::kMaxTerm});
  visit("version", it.version, {.low = 1});
  visit("decided_unix_s", it.decided_unix_s, {0, bounds::kMaxSeconds});
  visit("seen_sequence", it.seen_sequence);
  visit("jobs", it.jobs, {.most = kMaxParts, .name = "job"});
  visit("pools", it.pools, {.most = kMaxGrantPools, .name = "pool"});
}

template <class Visitor, ConstOrNot<Beat> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("term", it.term, {1, bounds::kMaxTerm});
}

template <class Visitor, ConstOrNot<ReportPart> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("id", it.id, {1, UINT32_MAX});
  visit("uid", it.uid);
  visit("started_unix_s", it.started_unix_s, {0, bounds::kMaxSeconds});
  visit("updated_unix_s", it.updated_unix_s, {0, bounds::kMaxSeconds});
  visit("packed", it.packed, {kMaxPackedText});
}

template <class Visitor, ConstOrNot<ReportKept> Struct>
void visit_fields(Visitor& visit, Struct& it) {
  visit("id", it.id, {1, UINT32_MAX});
  visit("started_unix_s", it.started_unix_s, {0, bounds::kMaxSeconds});
  visit("updated_unix_s", it.updated_unix_s, {0, bounds::kMaxSeconds});
}

template <class Visitor, ConstOrNot<Resync> Struct>
void visit_fields(Visitor&, Struct&) {}

}  // namespace penstock
