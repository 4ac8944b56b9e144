#include "tools/advise/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "common/units.h"
#include "report/text.h"

namespace penstock::advise {
namespace {

constexpr double kHour_s = 3600;

std::string counted(int count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string request_text(const Request& request) {
  std::string out = printable(request.job_name) + ": " +
                    counted(request.nodes, "node") + ", " +
                    counted(request.tasks_per_node, "task") + " with " +
                    counted(request.cpus_per_task, "CPU");
  out += request.tasks_per_node == 1 ? "" : " each";
  if (request.gpus_per_node > 0) {
    out += ", " + counted(request.gpus_per_node, "GPU");
    if (!request.gpu_type.empty()) out += " " + printable(request.gpu_type);
  }
  if (request.nodes > 1) out += " per node";
  return out;
}

const char* choice_text(Choice::What what) {
  switch (what) {
    case Choice::What::kAsked:
      return "as asked";
    case Choice::What::kAdvised:
      return "advised";
    case Choice::What::kMost:
      return "a whole node";
  }
  return "";
}

using Cell = std::string (*)(const Choice&);

// A column of the table, left out if its figures are unknown.
struct Column {
  const char* name;
  int width;
  bool (*is_known)(const Choice&);
  Cell text;
};

constexpr Column kColumns[] = {
    {"CPUs/task", 9, [](const Choice&) { return true; },
     [](const Choice& it) { return std::to_string(it.cpus_per_task); }},
    {"samples/s", 22, [](const Choice&) { return true; },
     [](const Choice& it) { return estimate_text(it.rate); }},
    {"time", 11, [](const Choice& it) { return it.hours.has_value(); },
     [](const Choice& it) {
       return it.hours ? duration_text(*it.hours * kHour_s) : "-";
     }},
    {"core hours", 10, [](const Choice& it) { return it.hours.has_value(); },
     [](const Choice& it) { return figure_text(it.core_hours); }},
    {"GPU hours", 9, [](const Choice& it) { return it.gpu_hours.has_value(); },
     [](const Choice& it) { return figure_text(it.gpu_hours); }},
};

void add_choices(const Advice& advice, Page& page) {
  const auto& rows = advice.choices;
  if (rows.empty()) return;
  std::string head = fmt::format("  {:<11}", "");
  std::vector<std::string> lines;
  for (const Choice& it : rows) {
    lines.push_back(fmt::format("  {:<11}", choice_text(it.what)));
  }
  for (const Column& column : kColumns) {
    if (std::none_of(rows.begin(), rows.end(), column.is_known)) continue;
    head += fmt::format(" {:>{}}", column.name, column.width);
    for (size_t i = 0; i < rows.size(); ++i) {
      lines[i] += fmt::format(" {:>{}}", column.text(rows[i]), column.width);
    }
  }
  page.line("");
  page.line(head);
  for (const std::string& line : lines) page.line(line);
}

// Of the best choice: what the job would need of storage.
void add_storage(const Advice& advice, Page& page) {
  const Choice* advised = nullptr;
  for (const Choice& it : advice.choices) {
    if (it.what != Choice::What::kMost && it.bytes_per_s) advised = &it;
  }
  if (advised == nullptr) return;
  page.line(fmt::format("Storage: at {} samples/s it reads {}",
                        figure_text(advised->rate.value),
                        rate_text(advised->bytes_per_s)));
}

void add_nodes(const FittingNodes& nodes, Page& page) {
  page.line(fmt::format("Nodes: {} of {} of partition {} fit{}", nodes.up,
                        nodes.all, nodes.partitions,
                        nodes.down > 0
                            ? fmt::format("; {} more would, but are down or "
                                          "drained",
                                          nodes.down)
                            : ""));
}

nlohmann::json optional(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json estimate_json(const Estimate& it) {
  return {{"value", it.value}, {"low", it.low}, {"high", it.high}};
}

}  // namespace

std::string advice_text(const Request& request, const Advice& advice,
                        const TextStyle& style) {
  Page page(style);
  page.line(request_text(request), 4, Page::Tone::kHeading);
  page.line("By " + advice.basis);
  page.line("");
  if (advice.lines.empty()) {
    page.line(
        "Ask for what you ask for: nothing that can be advised would "
        "make it faster, or cheaper.",
        4, Page::Tone::kGood);
  } else {
    for (const std::string& line : advice.lines) page.line("  " + line);
  }
  add_choices(advice, page);
  page.line("");
  add_storage(advice, page);
  if (advice.nodes) add_nodes(*advice.nodes, page);
  for (const std::string& note : advice.notes) page.line("- " + note + ".", 2);
  return page.take();
}

nlohmann::json advice_json(const Request& request, const Advice& advice) {
  nlohmann::json choices = nlohmann::json::array();
  for (const Choice& it : advice.choices) {
    choices.push_back({{"what", choice_name(it.what)},
                       {"cpus_per_task", it.cpus_per_task},
                       {"samples_per_s", estimate_json(it.rate)},
                       {"hours", optional(it.hours)},
                       {"core_hours", optional(it.core_hours)},
                       {"gpu_hours", optional(it.gpu_hours)},
                       {"bytes_per_s", optional(it.bytes_per_s)}});
  }
  nlohmann::json nodes;
  if (advice.nodes) {
    nodes = {{"fitting", advice.nodes->up},
             {"fitting_but_down", advice.nodes->down},
             {"in_partition", advice.nodes->all}};
  }
  return {{"job_name", printable(request.job_name, 256)},
          {"basis", advice.basis},
          {"lines", advice.lines},
          {"cpus_per_task", advice.advised_cpus_per_task},
          {"choices", choices},
          {"memory_bytes", optional(advice.memory_bytes)},
          {"nodes", nodes},
          {"notes", advice.notes}};
}

}  // namespace penstock::advise
