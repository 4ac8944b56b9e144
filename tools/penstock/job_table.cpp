#include "tools/penstock/job_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/shown_text.h"
#include "report/text.h"
#include "tools/penstock/stall_shares.h"

namespace penstock {
namespace {

constexpr double kHour_s = 3600;
// From this width on, a run takes one line.
constexpr int kOneLine = 146;
constexpr int kIndent = 13;
constexpr int kWhenWidth = 70;

std::string text_or_dash(const std::string& text, size_t most) {
  return text.empty() ? "-" : shown_in_columns(text, most);
}

std::string count_text(uint32_t count) {
  return count == 0 ? "-" : std::to_string(count);
}

std::string hours_text(const std::optional<double>& seconds) {
  if (!seconds) return "-";
  return figure_text(*seconds / kHour_s);
}

// For example "11-24 16:50".
std::string ended_text(const JobRecord& job) {
  if (!job.end_unix_s) return "running";
  const std::string date = date_text(*job.end_unix_s);
  return date.size() < 16 ? date : date.substr(5, 11);
}

std::string when_columns(const char* job, const char* name, const char* ended,
                         const char* ran, const char* ranks, const char* gpus,
                         const char* rate) {
  return fmt::format("{:<12} {:<13} {:<11} {:>11} {:>5} {:>5} {:>7}", job, name,
                     ended, ran, ranks, gpus, rate);
}

std::string when_columns(const JobRecord& job) {
  return when_columns(
      job_label(job).substr(0, 12).c_str(), text_or_dash(job.name, 13).c_str(),
      ended_text(job).c_str(), duration_text(ran_s(job)).c_str(),
      count_text(job.ranks).c_str(), count_text(job.gpus).c_str(),
      figure_text(job.mean_rate_samples_per_s).c_str());
}

std::string where_columns(const ShareTexts& shares, const std::string& stalled,
                          const std::string& own, const std::string& borrowed) {
  return fmt::format("{:>7} {:>6} {:>6} {:>6} {:>6} {:>9} {:>8} {:>8}",
                     shares[0], shares[1], shares[2], shares[3], shares[4],
                     stalled, own, borrowed);
}

std::string where_columns(const JobRecord& job) {
  return where_columns(share_texts(job.run), figure_text(stalled_gpu_h(job)),
                       hours_text(job.run.home_core_s),
                       hours_text(job.run.away_core_s));
}

class Rows {
 public:
  Rows(Page& page, const TextStyle& style)
      : page_(page), is_one_line_(style.width >= kOneLine) {}

  void add(const std::string& when, const std::string& where,
           const std::string& verdict, Page::Tone tone = Page::Tone::kPlain) {
    if (is_one_line_) {
      return page_.line(when + " " + where + " " + verdict, kIndent, tone);
    }
    page_.line(when + " " + verdict, kIndent, tone);
    page_.line(std::string(kIndent, ' ') + where, kIndent, tone);
  }

 private:
  Page& page_;
  bool is_one_line_;
};

std::string known_hours(double hours, bool is_known) {
  return is_known ? figure_text(hours) : "-";
}

void add_totals(const JobTable& table, Rows& rows) {
  const StallTotals& totals = table.totals;
  const std::string what =
      table.array_job_id ? fmt::format("{}_*", *table.array_job_id) : "all";
  const bool knows_cores = totals.cores_known > 0;
  rows.add(fmt::format("{:<12} {} run{}, {} running: {} GPU hours", what,
                       totals.runs, totals.runs == 1 ? "" : "s", totals.running,
                       figure_text(totals.ran_gpu_h)),
           where_columns(share_texts(totals),
                         known_hours(totals.stalled_gpu_h,
                                     totals.stalled_known_gpu_h > 0),
                         known_hours(totals.home_core_h, knows_cores),
                         known_hours(totals.away_core_h, knows_cores)),
           "", Page::Tone::kHeading);
}

// Notes on runs that the totals do not cover.
void add_remarks(const JobTable& table, Page& page) {
  const StallTotals& totals = table.totals;
  const double untold = totals.ran_gpu_h - totals.told_gpu_h;
  if (untold > 0.005 * totals.ran_gpu_h) {
    page.line(
        fmt::format("Of {} GPU hours nothing was told: the shares of all "
                    "are of the other {}.",
                    figure_text(untold), figure_text(totals.told_gpu_h)));
  }
  if (totals.cores_known > 0 && totals.cores_known < totals.runs) {
    page.line(
        fmt::format("The core hours of all are of {} runs; those of the "
                    "others are not known.",
                    totals.cores_known));
  }
  if (totals.stand_in_gpu_h > 0) {
    page.line("A job without GPUs of Slurm's has one for each rank here.");
  }
}

void add_legend(Page& page) {
  page.line(
      "RATE/S: samples per second and rank. The shares are of the wall time, "
      "of all by GPU hours; --- is unknown. STALLED: GPU hours of fetch, prep "
      "and exchange stall. OWN and BORROWED: core hours of the loader on the "
      "job's own and on lent CPUs. VERDICT?: by the kernel's figures, as the "
      "job reported none.",
      0);
}

}  // namespace

std::optional<double> stalled_gpu_h(const JobRecord& job) {
  const auto seconds = stalled_s(job.run);
  if (!seconds) return std::nullopt;
  return *seconds * gpus_of(job) / kHour_s;
}

JobTable make_job_table(std::vector<JobRecord> jobs) {
  JobTable table;
  table.jobs = std::move(jobs);
  for (const JobRecord& job : table.jobs) table.totals.add(job);
  // Stable: runs with equal stalls stay in order, newest first.
  std::stable_sort(table.jobs.begin(), table.jobs.end(),
                   [](const JobRecord& a, const JobRecord& b) {
                     return stalled_gpu_h(a).value_or(-1) >
                            stalled_gpu_h(b).value_or(-1);
                   });
  return table;
}

std::string render_job_table(const JobTable& table, const TextStyle& style) {
  Page page(style);
  Rows rows(page, style);
  rows.add(
      when_columns("JOB", "NAME", "ENDED", "RAN", "RANKS", "GPUS", "RATE/S"),
      where_columns({"COMPUTE", "FETCH", "PREP", "EXCH", "UNATT."}, "STALLED",
                    "OWN", "BORROWED"),
      "VERDICT", Page::Tone::kHeading);
  for (const JobRecord& job : table.jobs) {
    rows.add(when_columns(job), where_columns(job), verdict_word(job.run));
  }
  page.line("");
  add_totals(table, rows);
  page.line("");
  add_remarks(table, page);
  add_legend(page);
  return page.take();
}

}  // namespace penstock
