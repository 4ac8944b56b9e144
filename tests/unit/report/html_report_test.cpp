// Contents of the page. tests/browser checks its form and its look.
#include "report/html_report.h"

#include <limits>
#include <regex>

#include "report/advice.h"
#include "report/markup.h"
#include "samples.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

bool says(const std::string& page, const std::string& text) {
  return page.find(text) != std::string::npos;
}

size_t count(const std::string& page, const std::string& text) {
  size_t found = 0;
  for (size_t at = page.find(text); at != page.npos;
       at = page.find(text, at + text.size())) {
    ++found;
  }
  return found;
}

// Different figures of many digits, which make the page as long as possible.
double long_figure() {
  static uint64_t state = 1;
  state = state * 6364136223846793005 + 1442695040888963407;
  return 1e17 * (1 + double(state >> 40) / double(1 << 24));
}

std::vector<TimelinePoint> rough_course(double start_unix_s, size_t points) {
  std::vector<TimelinePoint> out;
  for (size_t i = 0; i < points; ++i) {
    // A gap after each point prevents joined lines.
    TimelinePoint point{start_unix_s + double(i), 0.5};
    for (auto figure :
         {&TimelinePoint::granted_home_cores,
          &TimelinePoint::granted_away_cores, &TimelinePoint::used_home_cores,
          &TimelinePoint::used_away_cores, &TimelinePoint::used_trainer_cores,
          &TimelinePoint::granted_bytes_per_s, &TimelinePoint::used_bytes_per_s,
          &TimelinePoint::rate, &TimelinePoint::predicted_rate}) {
      point.*figure = long_figure();
    }
    for (const WallPartNames& it : kWallParts) {
      point.shares[it.part] = long_figure() / 8e17;
    }
    out.push_back(point);
  }
  return out;
}

GrantChange long_change(double time_unix_s) {
  GrantChange out{time_unix_s, GrantCause::kController};
  for (auto figure :
       {&GrantChange::cores_from, &GrantChange::cores_to,
        &GrantChange::away_from, &GrantChange::away_to,
        &GrantChange::bytes_per_s_from, &GrantChange::bytes_per_s_to,
        &GrantChange::rate_before, &GrantChange::rate_after}) {
    out.*figure = long_figure();
  }
  return out;
}

WhatIfCurve long_curve(const std::string& text) {
  WhatIfCurve out;
  out.notes.assign(kMaxWhatIfNotes, text);
  out.basis = out.why_not_enough = text;
  out.ceiling = long_figure();
  for (size_t i = 0; i < kMaxWhatIfPoints; ++i) {
    out.points.push_back(
        {0.123 + 1.2345 * double(i), {3e17, 1.23e17, 9.87e17}});
  }
  return out;
}

// The largest possible report, with only characters that are escaped.
JobReport largest() {
  JobReport out = samples::input_bound();
  out.job_id = UINT32_MAX;
  const std::string text(kMaxReportTextBytes, '"');
  out.job_name = out.node = out.policy = out.bandwidth.pool = text;
  out.options.assign(kMaxReportOptions, {text, text});
  out.notes.assign(kMaxReportNotes, text);
  for (std::string* method :
       {&out.breakdown.parts.compute.method,
        &out.breakdown.parts.fetch_stall.method,
        &out.breakdown.parts.prep_stall.method,
        &out.breakdown.parts.exchange_stall.method, &out.ceiling.predicted_from,
        &out.ceiling.corrected_from, &out.ceiling.measured_by,
        &out.throughput.predicted_from, &out.throughput.measured_by,
        &out.pressure.method}) {
    *method = text;
  }
  out.what_if = long_curve(text);
  out.timeline = rough_course(out.start_unix_s, 10000);
  out.end_unix_s = out.updated_unix_s = out.start_unix_s + 10000;
  out.changes.clear();
  for (size_t i = 0; i < kToldChanges; ++i) {
    out.changes.push_back(long_change(out.start_unix_s + 100.0 * double(i)));
  }
  return out;
}

TEST_CASE("a page has the verdict, the advice, and each section") {
  const JobReport report = samples::input_bound();
  const std::string page = render_html(report);
  CHECK(says(page, verdict(report)));
  for (const Recommendation& advice : recommend(report)) {
    CHECK(says(page, "<code>" + advice.lines[0] + "</code>"));
  }
  for (const char* heading :
       {"What would help", "Where the time went", "Cores: granted and used",
        "Storage bandwidth: granted and used", "Grant changes",
        "Predicted and measured", "What more or fewer loader cores would do",
        "Data quality and methods"}) {
    CHECK(says(page, std::string("<h2>") + heading + "</h2>"));
  }
  CHECK(says(page, "Note: the accelerator is emulated"));
  CHECK(says(page, "not Slurm&#39;s promise"));
  CHECK(says(page, "2026-01-01 00:00:00 UTC"));
  CHECK(says(page, "you are here:"));
  CHECK_FALSE(says(page, "Provisional"));
}

TEST_CASE("the same report gives the same page") {
  CHECK(render_html(samples::input_bound()) ==
        render_html(samples::input_bound()));
}

TEST_CASE("a page runs no script and fetches nothing") {
  for (const JobReport& report :
       {samples::input_bound(), samples::hostile(), samples::unknown()}) {
    const std::string page = render_html(report);
    CHECK(says(page, "default-src &#39;none&#39;"));
    for (const char* never : {"<script", "http:", "https:", "src=", "href=",
                              "@import", "javascript:", " on"}) {
      INFO(never);
      const std::string attribute = std::string(never) + "load=";
      CHECK_FALSE(says(page, never == std::string(" on") ? attribute : never));
    }
    // url() names patterns of the page itself.
    CHECK(count(page, "url(") == count(page, "url(#hatch-"));
  }
}

TEST_CASE("a malicious user's texts are escaped") {
  JobReport report = samples::input_bound();
  report.job_name = "</h1><script>alert(1)</script>\x1b[2J\xff";
  report.notes = {"</style>"};
  const std::string page = render_html(report);
  CHECK(says(
      page, "&lt;/h1&gt;&lt;script&gt;alert(1)&lt;/script&gt;\uFFFD[2J\uFFFD"));
  CHECK(count(page, "</style>") == 1);
}

TEST_CASE("shares of the wall time sum to 100") {
  const std::string page = render_html(samples::input_bound());
  const size_t begin = page.find("Parts of the wall time");
  const std::string table =
      page.substr(begin, page.find("</table>", begin) - begin);
  const std::regex share("<td>([0-9.]+)%</td>");
  double sum = 0;
  int parts = 0;
  for (std::sregex_iterator it(table.begin(), table.end(), share), end;
       it != end; ++it, ++parts) {
    sum += std::stod((*it)[1]);
  }
  CHECK(parts >= 4);
  CHECK(sum == Approx(100).margin(1e-9));
}

TEST_CASE("each change has a number on the chart and a row") {
  const JobReport report = samples::input_bound();
  const std::string page = render_html(report);
  CHECK(says(page, ">a job ended</td>"));
  CHECK(says(page, "0.90 → 1.90"));
  CHECK(says(page, "25 MB/s → 50 MB/s"));
  CHECK(says(page, "210 → 410 (+95%)"));
  CHECK(says(page, "class=\"mark-number\""));
  for (const char* number : {">1</th>", ">2</th>", ">3</th>"}) {
    CHECK(says(page, number));
  }
}

TEST_CASE("more than 100 changes are summarised by cause") {
  JobReport report = largest();
  const std::string few = render_html(report);
  const std::string told =
      std::string(">") + escaped(cause_text(GrantCause::kController)) + "</td>";
  CHECK(count(few, told) == kToldChanges);
  report.changes.insert(report.changes.end(), 5, report.changes.back());
  report.changes_dropped = 7;
  const std::string many = render_html(report);
  CHECK(count(many, told) == 0);
  CHECK(says(many, "There are 105 changes"));
  CHECK(says(many, "7 earlier changes were not kept"));
  CHECK(says(many, "controller granted anew ("));
}

TEST_CASE("unknown figures are stated as unknown, never shown as 0") {
  const std::string page = render_html(samples::unknown());
  CHECK(says(page, "Provisional: the job still runs"));
  CHECK(says(page, "No verdict"));
  CHECK(says(page, "This report has no course over time"));
  CHECK(says(page, "the penstockd that wrote this report told no curve"));
  CHECK(says(page, "<td>-</td>"));
  CHECK_FALSE(says(page, "you are here"));
  CHECK_FALSE(says(page, "class=\"chart\""));
  for (const char* empty : {"Cores: granted and used", "Grant changes",
                            "Storage bandwidth", "Predicted and measured"}) {
    CAPTURE(empty);
    CHECK_FALSE(says(page, std::string("<h2>") + empty));
  }
}

TEST_CASE("a job without borrowed CPUs has no chart of away cores") {
  JobReport report = samples::input_bound();
  for (TimelinePoint& point : report.timeline) {
    point.granted_away_cores = point.used_away_cores = 0;
  }
  const std::string page = render_html(report);
  CHECK(says(page, "The job borrowed no CPU of others."));
  CHECK_FALSE(says(page, "away-title"));
  CHECK(says(page, "home-title"));
}

TEST_CASE("figures outside every chart do not break the page") {
  JobReport report = samples::input_bound();
  REQUIRE_FALSE(report.timeline.empty());
  report.timeline[0].used_home_cores = std::numeric_limits<double>::quiet_NaN();
  report.timeline[0].rate = std::numeric_limits<double>::infinity();
  report.timeline.back().used_bytes_per_s = 1e18;
  report.changes[0].time_unix_s = -1e12;
  report.changes[2].time_unix_s = 1e15;
  report.what_if->here_cores = report.what_if->here_rate = 1e18;
  report.what_if->points.back().rate.high = 1e18;
  report.what_if->ceiling = 0;
  const std::string page = render_html(report);
  CHECK_FALSE(says(page, "\"nan"));
  CHECK_FALSE(std::regex_search(page, std::regex("[MHVL ;>](nan|inf)[^o]")));
}

TEST_CASE("the page of the largest possible report is below kMaxHtmlBytes") {
  const std::string page = render_html(largest());
  CHECK(page.size() < kMaxHtmlBytes);
  CHECK(says(page, "Of 10000 periods neighbours are averaged to 179 steps"));
}

}  // namespace
}  // namespace penstock
