#include "tools/penstock/cluster_table.h"

#include <fmt/format.h>

#include "report/text.h"
#include "select_ext/ctld/answers.h"
#include "tools/penstock/csv.h"
#include "tools/penstock/stall_shares.h"

namespace penstock {
namespace {

using nlohmann::json;

void line(const std::string& what, const std::string& hours,
          const std::string& more, Page& page) {
  page.line(fmt::format("  {:<26}{:>12}  {}", what, hours, more), 42);
}

void part_line(const std::string& what, double hours, double known_hours,
               const std::string& share, Page& page) {
  line(what, known_hours > 0 ? figure_text(hours) : kUnknownShare, share, page);
}

void add_gpu_hours(const StallTotals& totals, Page& page) {
  const ShareTexts shares = share_texts(totals);
  page.heading("GPU hours");
  line("run", figure_text(totals.ran_gpu_h),
       totals.stand_in_gpu_h > 0
           ? fmt::format("{} of jobs without GPUs of Slurm's: one for each "
                         "rank",
                         figure_text(totals.stand_in_gpu_h))
           : "",
       page);
  line("of which nothing was told",
       figure_text(totals.ran_gpu_h - totals.told_gpu_h), "", page);
  line("told", figure_text(totals.told_gpu_h),
       totals.estimated_gpu_h > 0
           ? fmt::format("{} by the kernel's figures alone",
                         figure_text(totals.estimated_gpu_h))
           : "",
       page);
  for (const WallPartNames& it : kWallParts) {
    const char* lost = is_stall(it.part) ? "lost to " : "";
    part_line(fmt::format("  {}{}", lost, it.text), totals.parts_gpu_h[it.part],
              totals.known_gpu_h[it.part], shares[size_t(it.part)], page);
  }
  part_line("  unattributed", totals.unattributed_gpu_h(), totals.told_gpu_h,
            shares.back(), page);
}

void add_core_hours(const StallTotals& totals, Page& page) {
  page.heading("Core hours of loaders");
  const bool is_known = totals.cores_known > 0;
  const auto hours = [&](double figure) {
    return is_known ? figure_text(figure) : std::string("-");
  };
  line("on the jobs' own CPUs", hours(totals.home_core_h),
       totals.cores_known < totals.runs
           ? fmt::format("of {} of {} runs", totals.cores_known, totals.runs)
           : "",
       page);
  line("borrowed", hours(totals.away_core_h), "", page);
  line("  lent by jobs", hours(totals.lent_core_h), "", page);
  line("  of idle CPUs",
       hours(std::max(0.0, totals.away_core_h - totals.lent_core_h)), "", page);
}

void add_gain(const StallTotals& totals, Page& page) {
  page.heading("Against the static split, in GPU hours");
  const bool is_known = totals.judged_gpu_h > 0;
  const auto hours = [&](double figure) {
    return is_known ? figure_text(figure) : std::string("-");
  };
  line("gained", hours(totals.gained_gpu_h), "", page);
  line("below the floor", hours(totals.below_floor_gpu_h), "", page);
  line("in hours judged", figure_text(totals.judged_gpu_h), "", page);
  line("not judged", figure_text(totals.ran_gpu_h - totals.judged_gpu_h), "",
       page);
  page.line("");
  page.line(
      "A job's floor is the rate that its entitlement alone allows, as it was "
      "last known. What it did in its hours would have taken rate / floor as "
      "long at the floor: hours x (rate / floor - 1) are gained where that is "
      "over 0, and stand below the floor where it is under. Hours of jobs "
      "whose rate or floor is not known are not judged.",
      0);
}

}  // namespace

std::string render_cluster_table(const StallTotals& totals, double since_unix_s,
                                 const TextStyle& style) {
  Page page(style);
  page.line(since_unix_s > 0 ? "Runs seen since " + date_text(since_unix_s) +
                                   ", each counted whole"
                             : "All runs that the controller remembers",
            4, Page::Tone::kHeading);
  page.line(fmt::format("  {} run{}, {} of them running", totals.runs,
                        totals.runs == 1 ? "" : "s", totals.running));
  add_gpu_hours(totals, page);
  add_core_hours(totals, page);
  add_gain(totals, page);
  return page.take();
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
