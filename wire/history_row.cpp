#include "wire/history_row.h"

#include <cmath>
#include <concepts>
#include <limits>

namespace penstock {
namespace {

using nlohmann::json;

struct Writer {
  json& out;

  void operator()(const char* key, const std::string& text) {
    out[key] = text.empty() ? json() : json(text);
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value) {
    out[key] = value ? json(*value) : json();
  }
  template <class T>
  requires std::integral<T> || std::floating_point<T>
  void operator()(const char* key, T value) { out[key] = value; }
};

struct Reader {
  const json& in;

  const json& find(const char* key) const {
    static const json* const kNull = new json();
    if (!in.is_object()) return *kNull;
    const auto found = in.find(key);
    return found == in.end() ? *kNull : *found;
  }

  void operator()(const char* key, std::string& text) const {
    const json& value = find(key);
    if (value.is_string()) text = value.get<std::string>();
  }
  template <class T>
  requires std::integral<T> || std::floating_point<T>
  void operator()(const char* key, T& number) const {
    number = read<T>(key).value_or(number);
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& number) const {
    number = read<T>(key);
  }

  template <class T>
  std::optional<T> read(const char* key) const {
    const json& value = find(key);
    if constexpr (std::floating_point<T>) {
      const bool fits = value.is_number() && std::isfinite(value.get<T>());
      return fits ? std::optional(value.get<T>()) : std::nullopt;
    } else {
      const bool fits = value.is_number_unsigned() &&
                        value.get<uint64_t>() <= std::numeric_limits<T>::max();
      return fits ? std::optional(value.get<T>()) : std::nullopt;
    }
  }
};

template <class Record, class Visitor>
void visit_fields(Record& job, Visitor&& visit) {
  visit("cluster", job.cluster);
  visit("job_id", job.job_id);
  visit("restart_count", job.restart_count);
  visit("array_job_id", job.array_job_id);
  visit("array_task_id", job.array_task_id);
  visit("het_job_id", job.het_job_id);
  visit("het_offset", job.het_offset);
  visit("uid", job.uid);
  visit("user", job.user);
  visit("account", job.account);
  visit("name", job.name);
  visit("kind", job.kind);
  visit("nodes", job.nodes);
  visit("ranks", job.ranks);
  visit("gpus", job.gpus);
  visit("model", job.model);
  visit("state", job.state);
  visit("submit_unix_s", job.submit_unix_s);
  visit("start_unix_s", job.start_unix_s);
  visit("end_unix_s", job.end_unix_s);
  visit("last_seen_unix_s", job.last_seen_unix_s);
  visit("measured_s", job.measured_s);
  visit("ceiling_samples_per_s", job.ceiling_samples_per_s);
  visit("mean_rate_samples_per_s", job.mean_rate_samples_per_s);
  visit("loader_cpu_s_per_sample", job.loader_cpu_s_per_sample);
  visit("storage_bytes_per_sample", job.storage_bytes_per_sample);
  visit("trainer_reserve_cores", job.trainer_reserve_cores);
  visit("grant_changes", job.grant_changes);
  for (const RunField& field : kRunFields) {
    visit(field.name, job.run.*field.value);
  }
}

}  // namespace

json history_row(const JobRecord& job) {
  json row = json::object();
  visit_fields(job, Writer{row});
  row["batch"] = job.batch ? json(job.batch) : json();
  return row;
}

JobRecord read_history_row(const json& row) {
  JobRecord job;
  const Reader reader{row};
  visit_fields(job, reader);
  reader("batch", job.batch);
  job.run = within_bounds(job.run);
  return job;
}

}  // namespace penstock
