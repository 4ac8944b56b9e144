// The tables of the HTML report, and its advice.
#include <fmt/format.h>

#include <algorithm>

#include "report/advice.h"
#include "report/html_parts.h"
#include "report/lent_gain.h"
#include "report/text.h"

namespace penstock {
namespace {

std::string count_text(uint32_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string cpus_text(const JobReport& report) {
  const std::optional<double>& cpus = report.cores.allocated;
  if (!cpus) return "CPUs not known";
  const std::string where = report.nodes.empty()
                                ? "this node"
                                : fmt::format("{} nodes", report.nodes.size());
  return fmt::format("{:.6g} CPU{} on {}", *cpus, *cpus == 1 ? "" : "s", where);
}

std::string end_text(const JobReport& report) {
  const std::string run = duration_text(report.run_s());
  if (report.running) {
    return fmt::format("runs for {}, as of {}", run,
                       date_text(report.updated_unix_s));
  }
  return fmt::format("{}, ran {}", date_text(report.end_unix_s.value_or(-1)),
                     run);
}

void fact(Markup& page, const char* name, const std::string& value) {
  page.open("tr");
  page.element("th", {{"scope", "row"}}, name);
  page.open("td");
  page.element("bdi", value);
  page.close();
  page.close();
}

Cells rate_row(const char* label, const std::optional<Estimate>& predicted,
               const std::optional<Estimate>& measured) {
  return {label, estimate_text(predicted), estimate_text(measured),
          error_text(predicted, measured)};
}

const char* no_advice_text(const JobReport& report) {
  if (report.quality.pages_contradicted) {
    return "Nothing: the job's own figures cannot be relied on.";
  }
  return "Nothing that these figures support.";
}

void methods_table(Markup& page, const JobReport& report) {
  std::vector<Cells> rows;
  const auto add = [&](const char* figure, const std::string& method) {
    if (!method.empty()) rows.push_back({figure, method});
  };
  for (const WallPartNames& it : kWallParts) {
    add(it.text, report.breakdown.parts[it.part].method);
  }
  add("ceiling predicted", report.ceiling.predicted_from);
  add("ceiling corrected", report.ceiling.corrected_from);
  add("ceiling measured", report.ceiling.measured_by);
  add("throughput predicted", report.throughput.predicted_from);
  add("throughput measured", report.throughput.measured_by);
  add("pressure", report.pressure.method);
  draw_table(page, "How each figure was obtained", {"figure", "obtained from"},
             rows, 2);
}

}  // namespace

void draw_table(Markup& page, const std::string& caption, const Cells& heads,
                const std::vector<Cells>& rows, int words) {
  // Focusable, so that the keyboard can scroll the box.
  page.open("div", {{"class", fmt::format("scroll words-{}", words)},
                    {"tabindex", "0"},
                    {"role", "region"},
                    {"aria-label", caption}});
  page.open("table");
  page.element("caption", caption);
  page.open("thead");
  page.open("tr");
  for (const std::string& head : heads) {
    page.element("th", {{"scope", "col"}}, head);
  }
  page.close();
  page.close();
  page.open("tbody");
  for (const Cells& cells : rows) {
    page.open("tr");
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i == 0) {
        page.element("th", {{"scope", "row"}}, cells[i]);
      } else {
        page.element("td", cells[i]);
      }
    }
    page.close();
  }
  page.close();
  page.close();
  page.close();
}

void folded_table(Markup& page, const std::string& caption, const Cells& heads,
                  const std::vector<Cells>& rows) {
  page.open("details");
  page.element("summary", "The figures as a table");
  draw_table(page, caption, heads, rows);
  page.close();
}

void facts_section(Markup& page, const JobReport& report) {
  page.open("table", {{"class", "facts"}});
  page.element("caption", "The job");
  page.open("tbody");
  if (report.gpus.count > 0) fact(page, "GPUs", gpus_text(report.gpus));
  fact(page, "node", report.node);
  fact(page, "user", user_text(report));
  fact(page, "started", date_text(report.start_unix_s));
  fact(page, report.running ? "running" : "ended", end_text(report));
  fact(page, "size",
       fmt::format("{}, {}, {}", count_text(report.tasks, "task"),
                   count_text(report.ranks, "rank"), cpus_text(report)));
  fact(page, "asked for", options_text(report.options));
  fact(page, "policy", report.policy.empty() ? "-" : report.policy);
  if (report.cache.hits) fact(page, "cache", cache_text(report.cache));
  page.close();
  page.close();
}

void nodes_table(Markup& page, const JobReport& report) {
  if (report.nodes.empty()) return;
  Cells heads = {"node", "ranks", "samples/s"};
  for (const WallPartNames& part : kWallParts) heads.push_back(part.text);
  heads.insert(heads.end(), {"own cores used", "lent cores used"});
  std::vector<Cells> rows;
  for (const NodePart& it : report.nodes) {
    Cells row = {it.node + (it.slowest ? " (slowest)" : ""),
                 std::to_string(it.ranks), figure_text(it.rate)};
    for (const WallPartNames& part : kWallParts) {
      row.push_back(share_text(
          ratio(it.breakdown.parts[part.part].seconds, it.breakdown.wall_s)));
    }
    row.insert(row.end(),
               {figure_text(it.used_home), figure_text(it.used_away)});
    rows.push_back(std::move(row));
  }
  page.element("h2", "Nodes");
  draw_table(page, "The job's part on each node", heads, rows);
  if (std::any_of(report.nodes.begin(), report.nodes.end(),
                  [](const NodePart& it) { return it.slowest; })) {
    page.element("p",
                 "The slowest node's ranks wait longest for data, and all "
                 "others wait for them.");
  }
}

void launch_section(Markup& page, const JobReport& report) {
  const std::vector<LaunchProblem> problems = further_problems(report);
  if (problems.empty()) return;
  page.element("h2", "Wrong in how it was started");
  page.element("p", "What mends it:");
  page.open("ul", {{"class", "advice"}});
  for (const LaunchProblem& problem : problems) {
    page.open("li");
    for (const std::string& line : problem.lines) page.element("code", line);
    page.element("p", problem.reason + ".");
    page.close();
  }
  page.close();
}

void advice_section(Markup& page, const JobReport& report) {
  page.element("h2", "What would help");
  if (report.run_s() < report.recommend_after_s) {
    page.element("p", fmt::format("Nothing yet: the run is shorter than {}.",
                                  duration_text(report.recommend_after_s)));
    return;
  }
  const std::vector<Recommendation> list = recommend(report);
  if (list.empty()) return page.element("p", no_advice_text(report));
  page.element("p", "Lines for the job script:");
  page.open("ul", {{"class", "advice"}});
  for (const Recommendation& advice : list) {
    page.open("li");
    for (const std::string& line : advice.lines) page.element("code", line);
    page.open("p");
    page.element("b", advice.gain ? gain_text(*advice.gain) : "saves CPUs");
    page.text(": " + advice.reason + ".");
    page.close();
    page.close();
  }
  page.close();
}

void cores_table(Markup& page, const JobReport& report) {
  const CoreFigures& cores = report.cores;
  draw_table(page, "Cores, averages over the run",
             {"", "entitled", "requested", "granted", "used", "of granted"},
             {{"loader at home", figure_text(cores.entitled),
               figure_text(cores.requested), figure_text(cores.granted_home),
               figure_text(cores.used_home),
               share_text(ratio(cores.used_home, cores.granted_home))},
              {"loader away (lent)", "-", "-", figure_text(cores.granted_away),
               figure_text(cores.used_away),
               share_text(ratio(cores.used_away, cores.granted_away))},
              {"trainer (entitled: its reserve)", figure_text(cores.reserve),
               "-", "-", figure_text(cores.used_trainer), "-"}});
  page.element("p",
               fmt::format("The ceiling needs {} loader cores; the most loader "
                           "threads at once were {}.",
                           estimate_text(cores.demand),
                           cores.loader_threads
                               ? fmt::format("{:.0f}", *cores.loader_threads)
                               : "not counted"));
  if (const std::string text = lent_gain_text(report); !text.empty()) {
    page.element("p", text + ".");
  }
  if (!cores.lent_by.empty()) {
    page.element("p",
                 "Cores lent by: " +
                     lent_by_text(cores.lent_by, cores.used_away.value_or(0)) +
                     ".");
  }
  for (const CoresNotLent& part : cores.not_lent) {
    page.element("p", fmt::format("Not lent: {:.2f} cores more, because {}.",
                                  part.cores, not_lent_text(part.why)));
  }
}

void would_have_section(Markup& page, const JobReport& report) {
  if (!report.would_have) return;
  page.element("h2", "Had Penstock acted");
  for (const std::string& text : would_have_texts(*report.would_have)) {
    page.element("p", text + ".");
  }
}

void bandwidth_table(Markup& page, const BandwidthFigures& bandwidth) {
  draw_table(page, "Storage bandwidth, averages over the run",
             {"pool", "entitled", "requested", "granted", "used", "of granted"},
             {{bandwidth.pool.empty() ? "none configured" : bandwidth.pool,
               rate_text(bandwidth.entitled_bytes_per_s),
               rate_text(bandwidth.requested_bytes_per_s),
               rate_text(bandwidth.granted_bytes_per_s),
               rate_text(bandwidth.used_bytes_per_s),
               share_text(ratio(bandwidth.used_bytes_per_s,
                                bandwidth.granted_bytes_per_s))}});
  std::string text =
      fmt::format("The ceiling needs {}.",
                  estimate_text(bandwidth.demand_bytes_per_s, rate_text));
  if (bandwidth.entitled_bytes_per_s) {
    text += fmt::format(
        " Entitled is Penstock's rule, not Slurm's promise: the pool's {} "
        "split by ranks over the running managed jobs. Slurm promises no "
        "bandwidth.",
        rate_text(bandwidth.pool_bytes_per_s));
  }
  page.element("p", text);
}

void rates_table(Markup& page, const JobReport& report) {
  const Compared& ceiling = report.ceiling;
  draw_table(
      page, "Rates in samples/s",
      {"", "predicted", "measured", "error of the prediction"},
      {rate_row("ceiling at arrival", ceiling.predicted, ceiling.measured),
       rate_row("ceiling corrected", ceiling.corrected, ceiling.measured),
       rate_row("throughput", report.throughput.predicted,
                report.throughput.measured),
       {"floor", figure_text(report.floor_rate), "-", "-"}});
  page.element("p",
               "The ceiling is the rate when data is never late, the floor "
               "what the entitlement alone allows. Intervals are in brackets.");
}

void quality_section(Markup& page, const JobReport& report) {
  const DataQuality& quality = report.quality;
  page.element("h2", "Data quality and methods");
  page.open("ul");
  page.element("li", fmt::format("sampled every {} s: {} periods, {} missed",
                                 figure_text(quality.sample_period_s),
                                 quality.periods, quality.gaps));
  page.element("li", fmt::format("{} training samples reported by the job",
                                 quality.samples));
  if (quality.counted != Counted::kUnknown) {
    page.element("li", counted_text(quality.counted));
  }
  page.element("li", loader_source_text(quality.loader_source));
  page.element("li", fmt::format("new threads noticed by: {}",
                                 process_events_name(quality.process_events)));
  if (quality.pages_contradicted) {
    page.element("li",
                 "the job's own figures contradict the kernel's: it was put "
                 "back on its entitlement");
  }
  if (quality.agent_restarts > 0) {
    page.element("li", fmt::format("penstockd was restarted {} times during "
                                   "the run",
                                   quality.agent_restarts));
  }
  page.element(
      "li", fmt::format("schema version {}{}", report.schema_version,
                        report.running ? ", provisional: the job runs" : ""));
  page.close();
  methods_table(page, report);
}

}  // namespace penstock
