#include "tools/penstock/controller_views.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "common/shown_text.h"
#include "report/text.h"
#include "tools/penstock/job_table.h"
#include "wire/history_row.h"

namespace penstock {
namespace {

using nlohmann::json;

const json& find(const json& object, const char* key) {
  static const json* const kNull = new json();
  if (!object.is_object()) return *kNull;
  const auto found = object.find(key);
  return found == object.end() ? *kNull : *found;
}

std::optional<double> number(const json& object, const char* key) {
  const json& value = find(object, key);
  if (!value.is_number()) return std::nullopt;
  const double figure = value.get<double>();
  if (!std::isfinite(figure)) return std::nullopt;
  return figure;
}

std::string whole(const json& object, const char* key) {
  const json& value = find(object, key);
  const bool counts = value.is_number_unsigned() ||
                      (value.is_number_integer() && value.get<int64_t>() >= 0);
  return counts ? std::to_string(value.get<uint64_t>()) : "-";
}

// Mostly whole numbers: "8", not "8.00".
std::string count_text(const json& object, const char* key) {
  const std::optional<double> value = number(object, key);
  if (value && *value == std::floor(*value) && std::fabs(*value) < 1e7) {
    return fmt::format("{:.0f}", *value);
  }
  return figure_text(value);
}

std::string text(const json& object, const char* key, size_t columns) {
  const json& value = find(object, key);
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
    return "-";
  }
  const std::string& all = value.get_ref<const std::string&>();
  return shown_in_columns(all, columns);
}

// Truncated like Slurm's commands do: "OUT_OF_ME+".
std::string state_text(const json& object) {
  constexpr size_t kWidth = 10;
  const std::string state = text(object, "state", 32);
  return state.size() <= kWidth ? state : state.substr(0, kWidth - 1) + "+";
}

bool is_set(const json& object, const char* key) {
  const json& value = find(object, key);
  return value.is_boolean() && value.get<bool>();
}

std::string user(const json& job, const UserName& user_name) {
  const json& uid = find(job, "uid");
  if (!uid.is_number_unsigned()) return "-";
  const std::string name = user_name(uid.get<uint32_t>());
  return shown_in_columns(name, 8);
}

void heading(const json& document, Page& page) {
  page.line(fmt::format(
                "{}  term {}  policy {}  {}", text(document, "controller", 40),
                whole(document, "term"), text(document, "policy", 12),
                date_text(number(document, "time_unix_s").value_or(-1))),
            4, Page::Tone::kHeading);
}

// A row, with '>' in front if it is marked.
void row(std::string line, int hang, Page::Tone tone, bool is_marked,
         Page& page) {
  if (is_marked && line[0] != ' ') line.insert(line.begin(), ' ');
  if (is_marked) line[0] = '>';
  page.line(line, hang, is_marked ? Page::Tone::kHeading : tone);
}

void job_line(const json& job, const UserName& user_name, bool is_marked,
              Page& page) {
  const json& nodes = find(job, "nodes");
  const std::optional<double> rate = number(job, "rate_samples_per_s");
  const std::optional<double> ceiling = number(job, "ceiling_samples_per_s");
  std::string line = fmt::format(
      "{:>8} {:<10} {:<8} {:>5} {:>5} {:>7} {:>7} {:>5} {:>6} {:>10}",
      whole(job, "job_id"), text(job, "name", 10), user(job, user_name),
      nodes.is_array() ? std::to_string(nodes.size()) : "-",
      count_text(job, "ranks"), figure_text(rate),
      figure_text(number(job, "floor_samples_per_s")),
      share_text(ratio(rate, ceiling)),
      figure_text(number(job, "loader_cores")),
      rate_text(number(job, "storage_bytes_per_s")));
  row(std::move(line), 20, Page::Tone::kPlain, is_marked, page);
  if (is_set(job, "silent")) {
    page.line("         a node of it is silent: kept at its floor", 9,
              Page::Tone::kWarning);
  }
  if (is_set(job, "on_entitlement")) {
    page.line(
        "         has its entitlement: observed (Mode=), switched off, being "
        "measured, or its pages contradict the kernel",
        9, Page::Tone::kWarning);
  }
}

std::string ran_text(const json& job) {
  const std::optional<double> start = number(job, "start_unix_s");
  std::optional<double> end = number(job, "end_unix_s");
  if (!end) end = number(job, "last_seen_unix_s");
  return start && end ? duration_text(*end - *start) : "-";
}

std::optional<double> in_ms(const std::optional<double>& seconds) {
  if (!seconds) return std::nullopt;
  return *seconds * 1e3;
}

void history_line(const json& job, const UserName& user_name, Page& page) {
  page.line(
      fmt::format("{:<12} {:<10} {:<8} {:<10} {:>11} {:>7} {:>7} {:>7}",
                  job_label(read_history_row(job)).substr(0, 12),
                  text(job, "name", 10), user(job, user_name), state_text(job),
                  ran_text(job),
                  figure_text(number(job, "mean_rate_samples_per_s")),
                  figure_text(number(job, "ceiling_samples_per_s")),
                  figure_text(in_ms(number(job, "loader_cpu_s_per_sample")))),
      20);
}

void node_line(const json& node, bool is_marked, Page& page) {
  const bool silent = is_set(node, "silent");
  const std::optional<double> heard_ago_s = number(node, "heard_ago_s");
  row(fmt::format("{:<24} {:>6} {:>7} {:>8} {:>5} {:>6} {:>11} {}",
                  text(node, "node", 24), count_text(node, "cpus"),
                  figure_text(number(node, "loader_cores")),
                  figure_text(number(node, "planned_cores")),
                  whole(node, "jobs"), count_text(node, "ranks"),
                  heard_ago_s ? duration_text(*heard_ago_s) : "-",
                  silent ? "silent" : ""),
      26, silent ? Page::Tone::kWarning : Page::Tone::kPlain, is_marked, page);
}

void pool_line(const json& pool, Page& page) {
  const std::optional<double> planned = number(pool, "planned_bytes_per_s");
  const std::optional<double> all = number(pool, "bandwidth_bytes_per_s");
  page.line(fmt::format("{:<24} {:>12} of {:>12} {:>5}  {} jobs",
                        text(pool, "pool", 24), rate_text(planned),
                        rate_text(all), share_text(ratio(planned, all)),
                        whole(pool, "jobs")));
}

}  // namespace

std::string render_jobs(const json& document, const UserName& user_name,
                        const TextStyle& style, std::optional<size_t> marked) {
  Page page(style);
  heading(document, page);
  page.heading(fmt::format(
      "{:>8} {:<10} {:<8} {:>5} {:>5} {:>7} {:>7} {:>5} {:>6} {:>10}", "JOB",
      "NAME", "USER", "NODES", "RANKS", "RATE/S", "FLOOR/S", "CEIL%", "CORES",
      "STORAGE"));
  const json& jobs = find(document, "jobs");
  if (jobs.empty()) page.line("  no managed job of yours is running");
  size_t index = 0;
  for (const json& job : jobs) {
    job_line(job, user_name, marked == index++, page);
  }
  page.line("");
  page.line(
      "RATE/S and FLOOR/S are samples per second and rank, granted and "
      "promised; CORES and STORAGE are what the rate needs of all ranks.");
  return page.take();
}

std::string render_nodes(const json& document, const TextStyle& style,
                         std::optional<size_t> marked) {
  Page page(style);
  heading(document, page);
  const json& pools = find(document, "pools");
  if (!pools.empty()) page.heading("Pools");
  for (const json& pool : pools) pool_line(pool, page);
  page.heading(fmt::format("{:<24} {:>6} {:>7} {:>8} {:>5} {:>6} {:>11}",
                           "NODE", "CPUS", "LOADER", "PLANNED", "JOBS", "RANKS",
                           "HEARD"));
  const json& nodes = find(document, "nodes");
  if (nodes.empty()) page.line("  no node has connected");
  size_t index = 0;
  for (const json& node : nodes) node_line(node, marked == index++, page);
  page.line("");
  page.line(
      "LOADER are the cores that loaders may use, PLANNED those that the "
      "granted rates need; HEARD is how long ago the node was.");
  return page.take();
}

std::string render_history(const json& document, const UserName& user_name,
                           const TextStyle& style) {
  Page page(style);
  page.line(
      fmt::format("{:<12} {:<10} {:<8} {:<10} {:>11} {:>7} {:>7} {:>7}", "JOB",
                  "NAME", "USER", "STATE", "RAN", "RATE/S", "CEIL/S", "CPU MS"),
      4, Page::Tone::kHeading);
  const json& jobs = find(document, "jobs");
  if (jobs.empty()) page.line("  no managed job of yours is remembered");
  for (const json& job : jobs) history_line(job, user_name, page);
  page.line("");
  page.line(
      "RATE/S and CEIL/S are samples per second and rank, reached and "
      "possible; CPU MS is the loader's time for a sample.");
  return page.take();
}

}  // namespace penstock
