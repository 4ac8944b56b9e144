#include "tools/policy/table.h"

#include <fmt/format.h>

#include <utility>

#include "common/shown_text.h"
#include "report/text.h"
#include "select_ext/ctld/answers.h"
#include "tools/penstock/csv.h"

namespace penstock::policy {
namespace {

using nlohmann::json;

std::string heading_of(Waste waste, const Rules& rules) {
  const auto h = [](double hours) { return duration_text(hours * 3600); };
  switch (waste) {
    case Waste::kIdleGpus:
      return fmt::format("GPUs on which no kernel ran for {} or more",
                         h(rules.idle_gpu_h));
    case Waste::kInputBound:
      return fmt::format("Waiting for data, over {} of {} or more",
                         share_text(rules.input_bound), h(rules.input_bound_h));
    case Waste::kUnusedCores:
      return fmt::format(
          "Cores: under {} of {:.0f} or more used for {} or more",
          share_text(rules.core_use), rules.least_cores,
          h(rules.unused_cores_h));
  }
  return "";
}

const char* unit_of(Waste waste) {
  return waste == Waste::kUnusedCores ? "core h" : "GPU h";
}

std::vector<const Finding*> only(const UserFindings& user, Waste waste) {
  std::vector<const Finding*> out;
  for (const Finding& it : user.findings) {
    if (it.waste == waste) out.push_back(&it);
  }
  return out;
}

void render_user(const UserFindings& user,
                 const std::vector<const Finding*>& findings, Page& page) {
  double wasted = 0, held = 0;
  for (const Finding* it : findings) {
    wasted += it->wasted_h;
    held += it->held_h;
  }
  const JobRecord& worst = findings.front()->job;
  page.line(fmt::format("  {:<16} {:>5} {:>10} {:>10}  {} {}",
                        shown_in_columns(user.user, 16), findings.size(),
                        figure_text(wasted), figure_text(held),
                        job_label(worst), shown_in_columns(worst.name, 20)),
            47);
}

// The columns of a finding, with their values as JSON.
using Columns = std::vector<std::pair<const char*, json>>;
Columns columns_of(const Finding& it) {
  return {{"kind", waste_name(it.waste)}, {"uid", it.job.uid},
          {"user", it.job.user},          {"account", it.job.account},
          {"job_id", it.job.job_id},      {"job", job_label(it.job)},
          {"name", it.job.name},          {"state", it.job.state},
          {"wasted_h", it.wasted_h},      {"held_h", it.held_h}};
}

std::string csv_value(const json& value) {
  return value.is_string() ? csv_text(value.get<std::string>())
                           : csv_number(value.get<double>());
}

template <class Do>
void for_each(const PolicyTable& table, Do&& act) {
  for (const Waste waste : kWastes) {
    for (const UserFindings& user : table.users) {
      for (const Finding* it : only(user, waste)) act(*it);
    }
  }
}

}  // namespace

std::string render_table(const PolicyTable& table, const TextStyle& style) {
  Page page(style);
  page.line(
      fmt::format("{} run{} seen since {}, each counted whole", table.runs,
                  table.runs == 1 ? "" : "s", date_text(table.since_unix_s)),
      4, Page::Tone::kHeading);
  bool is_empty = true;
  for (const Waste waste : kWastes) {
    bool has_rows = false;
    for (const UserFindings& user : table.users) {
      const std::vector<const Finding*> findings = only(user, waste);
      if (findings.empty()) continue;
      if (!has_rows) {
        page.heading(heading_of(waste, table.rules));
        page.line(fmt::format("  {:<16} {:>5} {:>10} {:>10}  {}", "user",
                              "runs", unit_of(waste), "of", "worst run"));
      }
      has_rows = true;
      render_user(user, findings, page);
    }
    is_empty = is_empty && !has_rows;
  }
  if (is_empty) page.line("  nothing to tell of them");
  return page.take();
}

std::string table_csv(const PolicyTable& table) {
  const auto record = [](const Columns& columns, const auto& text_of) {
    std::vector<std::string> texts;
    for (const auto& column : columns) texts.push_back(text_of(column));
    return csv_record(texts);
  };
  std::string text =
      record(columns_of({}), [](const auto& it) { return it.first; });
  for_each(table, [&](const Finding& it) {
    text += record(columns_of(it),
                   [](const auto& column) { return csv_value(column.second); });
  });
  return text;
}

json table_json(const PolicyTable& table) {
  json findings = json::array();
  for_each(table, [&](const Finding& it) {
    json row;
    for (auto& [name, value] : columns_of(it)) row[name] = std::move(value);
    findings.push_back(std::move(row));
  });
  const Rules& rules = table.rules;
  return {{"schema_version", kClusterSchemaVersion},
          {"kind", "policy"},
          {"since_unix_s", table.since_unix_s},
          {"runs", table.runs},
          {"rules",
           {{"idle_gpu_h", rules.idle_gpu_h},
            {"input_bound", rules.input_bound},
            {"input_bound_h", rules.input_bound_h},
            {"core_use", rules.core_use},
            {"unused_cores_h", rules.unused_cores_h},
            {"least_cores", rules.least_cores}}},
          {"findings", std::move(findings)}};
}

}  // namespace penstock::policy
