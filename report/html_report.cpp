#include "report/html_report.h"

#include <fmt/format.h>

#include "report/advice.h"
#include "report/html_page.h"
#include "report/html_parts.h"
#include "report/text.h"

namespace penstock {
namespace {

struct Hatch {
  const char* id;
  const char* fill;
  const char* line;
  const char* path;  // in a square of 6 x 6
};

// Directions stay distinct when a plot is stretched; finer patterns would not.
constexpr Hatch kHatches[] = {
    {"hatch-away", "orange", "orange-line", "M0 6L6 0"},
    {"hatch-fetch", "orange", "orange-line", "M0 6L6 0"},
    {"hatch-prep", "plum", "plum-line", "M0 0L6 6M0 6L6 0"},
    {"hatch-exchange", "green", "green-line", "M0 3H6"},
};

void patterns(Markup& page) {
  page.open("svg", {{"class", "patterns"}, {"aria-hidden", "true"}});
  page.open("defs");
  for (const Hatch& hatch : kHatches) {
    page.open("pattern", {{"id", hatch.id},
                          {"width", "6"},
                          {"height", "6"},
                          {"patternUnits", "userSpaceOnUse"}});
    page.leaf("rect", {{"class", hatch.fill}, {"width", "6"}, {"height", "6"}});
    page.leaf("path", {{"class", hatch.line},
                       {"d", hatch.path},
                       {"stroke-width", "0.8"},
                       {"fill", "none"}});
    page.close();
  }
  page.close();
  page.close();
}

const char* tone(const std::string& verdict) {
  if (verdict.starts_with("Input-bound")) return "verdict bad";
  if (verdict.starts_with("No verdict")) return "verdict warning";
  return "verdict good";
}

void opening(Markup& page, const JobReport& report) {
  page.open("h1");
  page.text(fmt::format("Job {} ", number_text(report)));
  page.element("bdi", report.job_name);
  page.close();
  std::string text = verdict(report);
  const char* style = tone(text);
  if (report.running && report.breakdown.wall_s > 0) text += ", so far";
  page.element("p", {{"class", style}}, text);
  if (report.running) {
    page.element("p", fmt::format("Provisional: the job still runs; these are "
                                  "its figures as of {}.",
                                  date_text(report.updated_unix_s)));
  }
  if (!report.notes.empty()) {
    page.open("div", {{"class", "notes"}});
    for (const std::string& note : report.notes) {
      page.element("p", "Note: " + note);
    }
    page.close();
  }
  facts_section(page, report);
}

void course_note(Markup& page, const JobReport& report,
                 const DrawnCourse& course) {
  if (course.drawn.empty()) {
    page.element("p", "This report has no course over time.");
    return;
  }
  std::string text = fmt::format(
      "Charts over time have times since the job's start and, below them, in "
      "UTC; a rest of the pointer on them tells the figures.");
  if (course.drawn.size() < report.timeline.size()) {
    text += fmt::format(" Of {} periods neighbours are averaged to {} steps.",
                        report.timeline.size(), course.drawn.size());
  }
  page.element("p", text);
}

void body(Markup& page, const JobReport& report, const DrawnCourse& course) {
  opening(page, report);
  launch_section(page, report);
  advice_section(page, report);
  nodes_table(page, report);
  page.element("h2", "Where the time went");
  breakdown_bar(page, report);
  if (report.slowest_rank && report.slowest_rank->stands_out()) {
    page.element("p", slowest_rank_text(*report.slowest_rank) + ".");
  }
  course_note(page, report, course);
  breakdown_course(page, course);
  if (report.knows_cores()) {
    page.element("h2", "Cores: granted and used");
    cores_course(page, report, course);
    cores_table(page, report);
  }
  would_have_section(page, report);
  if (report.knows_bandwidth()) {
    page.element("h2", "Storage bandwidth: granted and used");
    bandwidth_course(page, report, course);
    bandwidth_table(page, report.bandwidth);
  }
  if (!report.changes.empty()) {
    page.element("h2", "Grant changes");
    changes_table(page, report, course);
  }
  if (report.knows_rate()) {
    page.element("h2", "Predicted and measured");
    rates_course(page, report, course);
    rates_table(page, report);
  }
  what_if_section(page, report);
  quality_section(page, report);
}

std::string page_of(const JobReport& report, const DrawnCourse& course) {
  Markup page;
  page.open("html", {{"lang", "en"}});
  page_head(page, fmt::format("Penstock: job {}", report.job_id));
  page.open("body");
  patterns(page);
  page.open("main");
  body(page, report, course);
  page.close();
  page.element("footer",
               "Written by Penstock on the node named above: what the job did "
               "there. Figures that are not known are shown as -.");
  page.close();
  page.close();
  return "<!DOCTYPE html>\n" + std::move(page).take();
}

}  // namespace

// Long texts and a timeline full of gaps may make a page too large. The
// timeline dominates the size, so it is made coarser.
std::string render_html(const JobReport& report) {
  constexpr size_t kCoarsest = 8;
  for (size_t coarser = 1;; coarser *= 2) {
    std::string page = page_of(report, course_of(report, coarser));
    if (page.size() < kMaxHtmlBytes || coarser == kCoarsest) return page;
  }
}

}  // namespace penstock
