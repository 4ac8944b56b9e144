// Writes messages as JSON. messages_read.cpp reads the same keys.
#include "wire/messages.h"

namespace penstock {
namespace {

using nlohmann::json;

json to_json(const RunTotals& run) {
  json object = json::object();
  for (const RunField& field : kRunFields) {
    if (run.*field.value) object[field.name] = *(run.*field.value);
  }
  return object;
}

json to_json(const JobPart& part) {
  json object = {{"id", part.id},
                 {"uid", part.uid},
                 {"name", part.name},
                 {"started_unix_s", part.started_unix_s},
                 {"ranks", part.ranks},
                 {"shares", part.shares},
                 {"weight", part.weight},
                 {"in_cores", part.in_cores},
                 {"ceiling", part.ceiling},
                 {"loader_cpu_s_per_sample", part.loader_cpu_s_per_sample},
                 {"storage_bytes_per_sample", part.storage_bytes_per_sample},
                 {"pool", part.pool},
                 {"entitled_cores", part.entitled_cores},
                 {"max_cores", part.max_cores},
                 {"max_bytes_per_s", part.max_bytes_per_s},
                 {"on_entitlement", part.on_entitlement},
                 {"pool_pressed", part.pool_pressed},
                 {"is_measured", part.is_measured},
                 {"model", part.model},
                 {"batch", part.batch},
                 {"trainer_reserve_cores", part.trainer_reserve_cores},
                 {"mean_rate", part.mean_rate},
                 {"grant_changes", part.grant_changes}};
  if (!(part.run == RunTotals())) object["run"] = to_json(part.run);
  return object;
}

json to_json(const EarlierFigures& earlier) {
  return {{"ceiling", earlier.ceiling},
          {"loader_cpu_s_per_sample", earlier.loader_cpu_s_per_sample},
          {"trainer_cpu_s_per_sample", earlier.trainer_cpu_s_per_sample},
          {"storage_bytes_per_sample", earlier.storage_bytes_per_sample},
          {"relative_error", earlier.relative_error}};
}

json to_json(const JobGrant& grant) {
  json object = {
      {"id", grant.id}, {"floor", grant.floor}, {"rate", grant.rate}};
  if (grant.earlier) object["earlier"] = to_json(*grant.earlier);
  return object;
}

json to_json(const PoolGrant& grant) {
  return {{"name", grant.name},
          {"bytes_per_s", grant.bytes_per_s},
          {"node_shares", grant.node_shares},
          {"all_shares", grant.all_shares},
          {"bandwidth_bytes_per_s", grant.bandwidth_bytes_per_s}};
}

template <class T>
json list_of(const std::vector<T>& items) {
  json list = json::array();
  for (const T& item : items) list.push_back(to_json(item));
  return list;
}

TypedBody write(const NodeHello& hello) {
  return {"hello",
          {{"cpus", hello.cpus},
           {"loader_cores", hello.loader_cores},
           {"term", hello.term},
           {"silence_s", hello.silence_s},
           {"parts", list_of(hello.parts)}}};
}

TypedBody write(const JobChanged& changed) {
  return {"job",
          {{"loader_cores", changed.loader_cores},
           {"part", to_json(changed.part)}}};
}

TypedBody write(const JobEnded& ended) {
  json body = {{"loader_cores", ended.loader_cores}, {"id", ended.id}};
  if (ended.last) body["last"] = to_json(*ended.last);
  return {"job_ended", std::move(body)};
}

TypedBody write(const Heartbeat& beat) {
  return {"heartbeat",
          {{"loader_cores", beat.loader_cores},
           {"term", beat.term},
           {"version", beat.version},
           {"silence_s", beat.silence_s}}};
}

TypedBody write(const Refused& refused) {
  return {"refused",
          {{"term", refused.term},
           {"version", refused.version},
           {"highest_term", refused.highest_term}}};
}

TypedBody write(const NodeGrant& grant) {
  return {"grant",
          {{"term", grant.term},
           {"version", grant.version},
           {"decided_unix_s", grant.decided_unix_s},
           {"seen_sequence", grant.seen_sequence},
           {"jobs", list_of(grant.jobs)},
           {"pools", list_of(grant.pools)}}};
}

TypedBody write(const Beat& beat) { return {"beat", {{"term", beat.term}}}; }

TypedBody write(const Resync&) { return {"resync", json::object()}; }

}  // namespace

TypedBody body_of(const AgentMessage& message) {
  return std::visit([](const auto& it) { return write(it); }, message);
}

TypedBody body_of(const ControllerMessage& message) {
  return std::visit([](const auto& it) { return write(it); }, message);
}

}  // namespace penstock
