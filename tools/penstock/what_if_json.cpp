// `penstock what-if` as JSON.
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/units.h"
#include "tools/penstock/json_text.h"
#include "tools/penstock/what_if_study.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

// null if unknown or infinite.
Json number(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

Json amount_or_null(const Enough& enough) {
  return enough.kind == Enough::Kind::kAmount ? Json(enough.amount) : Json();
}

Json json_of(const Study& study, const StudyRow& row) {
  const WhatIfPoint& point = row.point;
  Json json;
  for (Axis axis : kAxes)
    json[words_of(axis).name] = number(amount_of(axis, row.amounts));
  if (!study.cache_known()) json[words_of(Axis::kCache).name] = nullptr;
  json["samples_per_s"] = {{"value", point.samples_per_s.value},
                           {"low", point.samples_per_s.low},
                           {"high", point.samples_per_s.high}};
  json["ceiling_samples_per_s"] = point.ceiling_samples_per_s;
  json["prep_samples_per_s"] = number(point.prep_samples_per_s);
  json["fetch_samples_per_s"] = number(point.fetch_samples_per_s);
  json["trainer_cores"] = point.trainer_cores;
  json["bottleneck"] = bottleneck_name(point.bottleneck);
  json["extrapolated"] = point.extrapolated;
  if (point.step) json["step"] = step_json(*point.step);
  return json;
}

Json json_of(const Study& study, const StudyTable& table) {
  Json rows = Json::array();
  for (const StudyRow& row : table.rows) {
    rows.push_back(json_of(study, row));
    rows.back()["present"] = row.present;
    if (table.axis != Axis::kDensity) continue;
    rows.back()["enough_cores"] = amount_or_null(row.cores);
    rows.back()["enough_bandwidth_bytes_per_s"] = amount_or_null(row.bandwidth);
  }
  const Enough& enough = table.enough;
  const bool found = enough.kind == Enough::Kind::kAmount;
  return {{"of", words_of(table.axis).name},
          {"unknown", table.unknown.empty() ? Json() : Json(table.unknown)},
          {"enough", amount_or_null(enough)},
          {"enough_extrapolated", enough.extrapolated},
          {"why_none", found ? Json() : Json(enough.why)},
          {"rows", std::move(rows)}};
}

}  // namespace

std::string study_json(const Study& study) {
  Json tables = Json::array();
  for (const StudyTable& table : study.tables)
    tables.push_back(json_of(study, table));
  Json json = {
      {"schema_version", 1},
      {"kind", "what_if"},
      {"profile", printable(study.profile.name)},
      {"cores_of", "task"},
      {"data_keeps_up_share", kDataKeepsUp},
      {"corner_known", study.corner_known},
      {"present", json_of(study, study.present)},
      {"set", study.set ? json_of(study, *study.set) : Json()},
      {"exchange", study.exchange ? exchange_json(*study.exchange) : Json()},
      {"tables", std::move(tables)},
      {"notes", study.notes}};
  return json_text(json);
}

}  // namespace penstock
