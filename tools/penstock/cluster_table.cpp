#include "tools/penstock/cluster_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/html_page.h"
#include "report/text.h"
#include "select_ext/ctld/answers.h"
#include "tools/penstock/csv.h"
#include "tools/penstock/stall_shares.h"

namespace penstock {
namespace {

using nlohmann::json;

// One table: its rows have a name, hours and a remark.
struct Section {
  std::string title;
  std::vector<std::array<std::string, 3>> rows;
  std::vector<std::string> notes;

  void add(const std::string& what, const std::string& hours,
           const std::string& remark = "") {
    rows.push_back({what, hours, remark});
  }
};

std::string known_text(bool is_known, double hours) {
  return is_known ? figure_text(hours) : "-";
}

std::string interval_text(double value, double low, double high) {
  return estimate_text(
      Estimate{value, std::min(low, value), std::max(high, value)});
}

std::string percent_text(double share) {
  return fmt::format("{:.1f}%", share * 100);
}

Section gpu_hours(const StallTotals& totals) {
  const ShareTexts shares = share_texts(totals);
  Section out{"GPU hours", {}, {}};
  out.add("run", figure_text(totals.ran_gpu_h),
          totals.stand_in_gpu_h > 0
              ? fmt::format("{} of jobs without GPUs of Slurm's: one for each "
                            "rank",
                            figure_text(totals.stand_in_gpu_h))
              : "");
  out.add("of which nothing was told",
          figure_text(totals.ran_gpu_h - totals.told_gpu_h));
  out.add("told", figure_text(totals.told_gpu_h),
          totals.estimated_gpu_h > 0
              ? fmt::format("{} by the kernel's figures alone",
                            figure_text(totals.estimated_gpu_h))
              : "");
  const auto part = [&](const std::string& what, double hours,
                        double known_hours, const std::string& share) {
    out.add(what, known_hours > 0 ? figure_text(hours) : kUnknownShare, share);
  };
  for (const WallPartNames& it : kWallParts) {
    const char* lost = is_stall(it.part) ? "lost to " : "";
    part(fmt::format("  {}{}", lost, it.text), totals.parts_gpu_h[it.part],
         totals.known_gpu_h[it.part], shares[size_t(it.part)]);
  }
  part("  unattributed", totals.unattributed_gpu_h(), totals.told_gpu_h,
       shares.back());
  return out;
}

Section core_hours(const StallTotals& totals) {
  const bool is_known = totals.cores_known > 0;
  Section out{"Core hours of loaders", {}, {}};
  out.add("on the jobs' own CPUs", known_text(is_known, totals.home_core_h),
          totals.cores_known < totals.runs
              ? fmt::format("of {} of {} runs", totals.cores_known, totals.runs)
              : "");
  out.add("borrowed", known_text(is_known, totals.away_core_h));
  out.add("  lent by jobs", known_text(is_known, totals.lent_core_h));
  out.add("  of idle CPUs",
          known_text(is_known,
                     std::max(0.0, totals.away_core_h - totals.lent_core_h)));
  if (totals.guest_core_h > 0) {
    out.add("  by guests, of all borrowed", figure_text(totals.guest_core_h));
  }
  return out;
}

Section gain(const StallTotals& totals) {
  const bool is_known = totals.judged_gpu_h > 0;
  Section out{"Against the static split, in GPU hours", {}, {}};
  out.add("gained", known_text(is_known, totals.gained_gpu_h));
  out.add("below the floor", known_text(is_known, totals.below_floor_gpu_h));
  out.add("in hours judged", figure_text(totals.judged_gpu_h));
  out.add("not judged", figure_text(totals.ran_gpu_h - totals.judged_gpu_h));
  out.notes.push_back(
      "A job's floor is the rate that its entitlement alone allows, as it was "
      "last known. What it did in its hours would have taken rate / floor as "
      "long at the floor: hours x (rate / floor - 1) are gained where that is "
      "over 0, and stand below the floor where it is under. Hours of jobs "
      "whose rate or floor is not known are not judged.");
  return out;
}

Section observed(const StallTotals& totals) {
  const bool is_known = totals.would_judged_gpu_h > 0;
  Section out{"Only observed (Mode=observe), in GPU hours", {}, {}};
  out.add("observed", figure_text(totals.observed_gpu_h));
  out.add(
      "would have gained",
      is_known
          ? interval_text(totals.would_save_gpu_h, totals.would_save_low_gpu_h,
                          totals.would_save_high_gpu_h)
          : "-",
      is_known
          ? percent_text(totals.would_save_gpu_h / totals.would_judged_gpu_h) +
                " of the hours judged"
          : "");
  out.add("in hours judged", figure_text(totals.would_judged_gpu_h));
  out.add("not judged",
          figure_text(totals.observed_gpu_h - totals.would_judged_gpu_h));
  out.add("core hours to borrow", figure_text(totals.would_borrow_core_h));
  out.add("core hours to lend", figure_text(totals.would_lend_core_h));
  out.notes.push_back(
      "What the same work would not have taken had Penstock lent CPUs: by the "
      "plan that it made each time, and the job's own curve of its rate. A job "
      "on several nodes gains what its node with the least gain does. The "
      "interval adds up the ends of the jobs' own.");
  return out;
}

Section groups(const StallTotals& totals) {
  Section out{"Jobs lent to, beside jobs only observed", {}, {}};
  const auto add = [&](const char* what, const GroupTotals& group) {
    out.add(
        what,
        group.gpu_h > 0 ? percent_text(group.stalled_gpu_h / group.gpu_h) : "-",
        fmt::format("of {} GPU hours lost, in {} run{}",
                    figure_text(group.gpu_h), group.runs,
                    group.runs == 1 ? "" : "s"));
  };
  add("lent to", totals.acted);
  add("only observed", totals.observed);
  const auto difference = difference_of(totals.observed, totals.acted);
  out.add("less lost by a run",
          difference ? fmt::format("{:.1f}", difference->value * 100) : "-",
          difference
              ? fmt::format("points on average, {:.1f} to {:.1f} (95%)",
                            difference->low * 100, difference->high * 100)
              : fmt::format("too few runs: {} of each are needed", kLeastRuns));
  out.notes.push_back(
      "Only if chance alone chose the jobs (Jobs=5%) does the difference show "
      "what lending does. An interval that holds 0 shows no difference. Jobs "
      "lent to borrow of idle CPUs and of each other alone: with all of them "
      "lent to, each has more to borrow from, and more that want the same.");
  return out;
}

std::vector<Section> sections_of(const StallTotals& totals) {
  std::vector<Section> out = {gpu_hours(totals), core_hours(totals),
                              gain(totals)};
  if (totals.observed_gpu_h > 0) {
    out.push_back(observed(totals));
    if (totals.acted.runs > 0) out.push_back(groups(totals));
  }
  return out;
}

std::string scope_text(double since_unix_s) {
  return since_unix_s > 0 ? "Runs seen since " + date_text(since_unix_s) +
                                ", each counted whole"
                          : "All runs that the controller remembers";
}

std::string runs_text(const StallTotals& totals) {
  return fmt::format("{} run{}, {} of them running", totals.runs,
                     totals.runs == 1 ? "" : "s", totals.running);
}

}  // namespace

std::string render_cluster_table(const StallTotals& totals, double since_unix_s,
                                 const TextStyle& style) {
  Page page(style);
  page.line(scope_text(since_unix_s), 4, Page::Tone::kHeading);
  page.line("  " + runs_text(totals));
  for (const Section& section : sections_of(totals)) {
    page.heading(section.title);
    for (const auto& [what, hours, remark] : section.rows) {
      page.line(fmt::format("  {:<26}{:>12}  {}", what, hours, remark), 42);
    }
    if (!section.notes.empty()) page.line("");
    for (const std::string& note : section.notes) page.line(note, 0);
  }
  return page.take();
}

std::string render_cluster_page(const StallTotals& totals,
                                double since_unix_s) {
  std::vector<HtmlTable> tables;
  for (Section& section : sections_of(totals)) {
    HtmlTable& table = tables.emplace_back();
    table.caption = section.title;
    table.heads = {"figure", "amount", "remark"};
    for (auto& row : section.rows)
      table.rows.emplace_back(row.begin(), row.end());
    table.notes = std::move(section.notes);
  }
  return render_tables_page(
      "Penstock: the cluster's jobs",
      {scope_text(since_unix_s) + ": " + runs_text(totals) + "."}, tables);
}

json cluster_table_json(const StallTotals& totals, double since_unix_s) {
  json sums = to_json(totals);
  sums["unattributed_gpu_h"] = totals.unattributed_gpu_h();
  return {{"schema_version", kClusterSchemaVersion},
          {"kind", "cluster_stalls"},
          {"since_unix_s", since_unix_s},
          {"totals", std::move(sums)}};
}

std::string cluster_table_csv(const StallTotals& totals, double since_unix_s) {
  const json document = cluster_table_json(totals, since_unix_s);
  std::vector<std::string> names = {"since_unix_s"};
  std::vector<std::string> values = {csv_number(since_unix_s)};
  for (const auto& [name, value] : document.at("totals").items()) {
    names.push_back(name);
    values.push_back(csv_number(value.get<double>()));
  }
  return csv_record(names) + csv_record(values);
}

}  // namespace penstock
