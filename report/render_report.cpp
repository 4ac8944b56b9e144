#include <fmt/format.h>

#include "common/units.h"
#include "report/advice.h"
#include "report/render.h"
#include "report/render_timeline.h"
#include "report/render_use.h"
#include "report/text.h"

namespace penstock {
namespace {

constexpr size_t kShownChanges = 20;  // the latest ones; JSON has all

void render_head(const JobReport& report, Page& page) {
  page.line(fmt::format("Job {} \"{}\" on {}, {} rank{}, policy {}",
                        number_text(report), report.job_name, report.node,
                        report.ranks, report.ranks == 1 ? "" : "s",
                        report.policy.empty() ? "-" : report.policy),
            4, Page::Tone::kHeading);
  if (report.gpus.count > 0) page.line("  GPUs: " + gpus_text(report.gpus));
  page.line(fmt::format("  of {}, started {}, {} {}", user_text(report),
                        date_text(report.start_unix_s),
                        report.running ? "running for" : "ran",
                        duration_text(report.run_s())));
  if (report.running) {
    page.line(
        "  provisional: the job runs, and these figures are not its last");
  }
  page.line("  asked for: " + options_text(report.options));
}

// The parts of a job on several nodes; the slowest is marked.
void render_nodes(const JobReport& report, Page& page) {
  if (report.nodes.empty()) return;
  std::string heading =
      fmt::format("{:<20}{:>6}{:>11}", "Nodes", "ranks", "samples/s");
  for (const WallPartNames& part : kWallParts) {
    heading += fmt::format("{:>10}", part.cause);
  }
  page.heading(heading);
  for (const NodePart& it : report.nodes) {
    std::string line =
        fmt::format("  {:<18}{:>6}{:>11}", printable(it.node, 18), it.ranks,
                    figure_text(it.rate));
    for (const WallPartNames& part : kWallParts) {
      line += fmt::format(
          "{:>10}", share_text(ratio(it.breakdown.parts[part.part].seconds,
                                     it.breakdown.wall_s)));
    }
    page.line(line, 4);
    if (it.slowest) {
      page.line(
          "    the slowest: its ranks wait longest for data, and all "
          "others for them",
          4);
    }
  }
}

void render_verdict(const JobReport& report, Page& page) {
  std::string text = verdict(report);
  Page::Tone tone = text.starts_with("Input-bound")  ? Page::Tone::kBad
                    : text.starts_with("No verdict") ? Page::Tone::kWarning
                                                     : Page::Tone::kGood;
  page.line("");
  if (report.running && report.breakdown.wall_s > 0) text += ", so far";
  page.line(text, 4, tone);
}

void rate_row(const char* label, const std::optional<Estimate>& predicted,
              const std::optional<Estimate>& measured, Page& page) {
  page.line(
      fmt::format("  {:<20}{:<24}{:<24}{:>8}", label, estimate_text(predicted),
                  estimate_text(measured), error_text(predicted, measured)),
      22);
}

void source_line(const std::string& what, const std::string& source,
                 Page& page) {
  if (!source.empty()) page.line(fmt::format("  {}: {}", what, source));
}

void render_rates(const JobReport& report, Page& page) {
  const Compared& ceiling = report.ceiling;
  const Compared& throughput = report.throughput;
  page.heading(fmt::format("{:<22}{:<24}{:<24}{:>8}", "Samples/s", "predicted",
                           "measured", "error"));
  rate_row("ceiling at arrival", ceiling.predicted, ceiling.measured, page);
  rate_row("ceiling corrected", ceiling.corrected, ceiling.measured, page);
  rate_row("throughput", throughput.predicted, throughput.measured, page);
  page.line(fmt::format("  {:<20}{}", "floor", figure_text(report.floor_rate)));
  source_line("ceiling predicted from", ceiling.predicted_from, page);
  source_line("ceiling corrected from", ceiling.corrected_from, page);
  source_line("ceiling measured by", ceiling.measured_by, page);
  source_line("throughput predicted from", throughput.predicted_from, page);
  source_line("throughput measured by", throughput.measured_by, page);
}

void part_row(const char* label, const TimePart& part, int permille,
              Page& page) {
  if (!part.seconds) {
    page.line(fmt::format("  {:<14}{:>8}", label, "-"));
    return;
  }
  page.bar(fmt::format("  {:<14}{:>7.1f}%{:>13}", label, permille / 10.0,
                       duration_text(*part.seconds)),
           permille / 1000.0);
}

void render_slowest_rank(const JobReport& report, Page& page) {
  if (!report.slowest_rank || !report.slowest_rank->stands_out()) return;
  page.line("  " + slowest_rank_text(*report.slowest_rank), 4);
}

void render_breakdown(const JobReport& report, Page& page) {
  const Breakdown& breakdown = report.breakdown;
  page.heading("Wall time, averaged over the ranks: " +
               duration_text(breakdown.wall_s));
  const auto shares = rounded_shares(breakdown, 1000);
  for (const WallPartNames& it : kWallParts) {
    part_row(it.text, breakdown.parts[it.part], shares[size_t(it.part)], page);
    if (it.part == kContendedPart && breakdown.contention_s) {
      page.line(fmt::format(
          "    of it {} CPU contention: the trainer waited for a CPU that its "
          "own loader used",
          share_text(ratio(breakdown.contention_s, breakdown.wall_s))));
    }
  }
  part_row("unattributed", {breakdown.unattributed_s, ""}, shares.back(), page);
  render_slowest_rank(report, page);
  for (const WallPartNames& it : kWallParts) {
    source_line(fmt::format("{} from", it.text),
                breakdown.parts[it.part].method, page);
  }
  const PressureFigures& pressure = report.pressure;
  if (!pressure.cpu_s && !pressure.io_s) return;
  page.line(fmt::format("  stalled on CPU {}, on I/O {} of wall time ({})",
                        share_text(ratio(pressure.cpu_s, breakdown.wall_s)),
                        share_text(ratio(pressure.io_s, breakdown.wall_s)),
                        pressure.method));
}

void render_change(const JobReport& report, const GrantChange& change,
                   Page& page) {
  constexpr int kEffectColumn = 16;
  page.line(
      fmt::format("  {:<12}  {:<31} cores {} -> {} ({} away)",
                  offset_text(change.time_unix_s - report.start_unix_s),
                  cause_text(change.cause), figure_text(change.cores_from),
                  figure_text(change.cores_to), figure_text(change.away_to)),
      kEffectColumn);
  std::string effect;
  if (change.bytes_per_s_from != change.bytes_per_s_to) {
    effect +=
        fmt::format("bandwidth {} -> {}  ", limit_text(change.bytes_per_s_from),
                    limit_text(change.bytes_per_s_to));
  }
  if (change.rate_before || change.rate_after) {
    effect += fmt::format("samples/s {} -> {}", figure_text(change.rate_before),
                          figure_text(change.rate_after));
  }
  if (!effect.empty()) {
    page.line(std::string(kEffectColumn, ' ') + effect, kEffectColumn);
  }
}

void render_changes(const JobReport& report, Page& page) {
  page.heading("Grant changes, with time since the start");
  size_t hidden = report.changes.size() > kShownChanges
                      ? report.changes.size() - kShownChanges
                      : 0;
  if (hidden + report.changes_dropped > 0) {
    page.line(fmt::format("  ({} earlier ones: {} in --json, {} not kept)",
                          hidden + report.changes_dropped, hidden,
                          report.changes_dropped));
  }
  for (size_t i = hidden; i < report.changes.size(); ++i) {
    render_change(report, report.changes[i], page);
  }
}

void render_lines(const std::vector<std::string>& lines,
                  const std::string& reason, Page& page) {
  for (const std::string& line : lines) {
    page.line("  " + line, 4, Page::Tone::kHeading);
  }
  page.line("      " + reason, 6);
}

void render_launch(const JobReport& report, Page& page) {
  const std::vector<LaunchProblem> problems = further_problems(report);
  if (problems.empty()) return;
  page.heading("Wrong in how it was started, and what mends it");
  for (const LaunchProblem& problem : problems) {
    render_lines(problem.lines, problem.reason, page);
  }
}

void render_advice(const JobReport& report, Page& page) {
  page.heading("Try");
  if (report.run_s() < report.recommend_after_s) {
    page.line(fmt::format("  nothing: the run is shorter than {}",
                          duration_text(report.recommend_after_s)));
    return;
  }
  std::vector<Recommendation> list = recommend(report);
  if (list.empty()) {
    page.line(report.quality.pages_contradicted
                  ? "  nothing: the job's own figures cannot be relied on"
                  : "  nothing that these figures support");
  }
  for (const Recommendation& advice : list) {
    const std::string gain =
        advice.gain ? " (" + gain_text(*advice.gain) + ")" : "";
    render_lines(advice.lines, advice.reason + gain, page);
  }
}

void render_quality(const JobReport& report, Page& page) {
  const DataQuality& quality = report.quality;
  page.heading("Data quality");
  page.line(fmt::format(
      "  sampled every {} s, {} periods, {} missed; {} training samples "
      "reported",
      figure_text(quality.sample_period_s), quality.periods, quality.gaps,
      quality.samples));
  if (quality.counted != Counted::kUnknown) {
    page.line(fmt::format("  {}", counted_text(quality.counted)));
  }
  page.line(fmt::format("  {}; new threads noticed by: {}",
                        loader_source_text(quality.loader_source),
                        process_events_name(quality.process_events)));
  if (quality.pages_contradicted) {
    page.line(
        "  the job's own figures contradict the kernel's: it was put back on "
        "its entitlement");
  }
  if (quality.agent_restarts > 0) {
    page.line(fmt::format("  penstockd was restarted {} times during the run",
                          quality.agent_restarts));
  }
  for (const std::string& note : report.notes) page.line("  note: " + note);
  page.line(fmt::format("  schema version {}{}", report.schema_version,
                        report.running ? ", provisional: the job runs" : ""));
}

}  // namespace

std::string render_text(const JobReport& report, const TextStyle& style) {
  Page page(style);
  render_head(report, page);
  render_verdict(report, page);
  render_launch(report, page);
  render_nodes(report, page);
  if (report.knows_rate()) render_rates(report, page);
  render_breakdown(report, page);
  render_timeline(report, page);
  if (report.knows_cores()) render_cores(report, page);
  render_would_have(report, page);
  if (report.knows_bandwidth()) render_bandwidth(report.bandwidth, page);
  render_cache(report.cache, page);
  if (!report.changes.empty()) render_changes(report, page);
  render_advice(report, page);
  render_quality(report, page);
  return page.take();
}

}  // namespace penstock
