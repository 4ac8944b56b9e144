// The page's section about other amounts of loader cores.
#include "report/html_report.h"
#include "samples.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

bool says(const std::string& page, const std::string& text) {
  return page.find(text) != std::string::npos;
}

// Number of lines of this kind on the page, keys included.
size_t lines(const std::string& page, const std::string& style) {
  const std::string text = "class=\"line " + style + "\"";
  size_t found = 0;
  for (size_t at = page.find(text); at != page.npos;
       at = page.find(text, at + text.size())) {
    ++found;
  }
  return found;
}

// The text of the section about other amounts of cores, without chart and
// table.
std::string what_if_text(const JobReport& report) {
  const std::string page = render_html(report);
  const size_t begin = page.find("What more or fewer loader cores would do");
  const size_t figure = page.find("</figure>", begin);
  const size_t end = page.find("<h2>", begin);
  return page.substr(figure < end ? figure : begin, end - begin);
}

TEST_CASE(
    "the curve marks the job, the sufficient cores and the extrapolated part") {
  JobReport report = samples::input_bound();
  std::string page = render_html(report);
  CHECK(says(page, "1.63 cores, 584/s"));
  CHECK(says(page, "ceiling: 846"));
  CHECK(says(page, "enough: 3.50 loader cores (extrapolated)"));
  CHECK(lines(page, "measured beyond") == 2);
  CHECK(says(page, "<td>granted: you are here</td>"));
  CHECK(says(page, "<td>enough, extrapolated</td>"));
  CHECK(says(page, "What it rests on: profile alexnet"));
  CHECK(says(page, "What storage supplies is not known"));
  CHECK(says(page, "Beyond 2.00 loader cores, the most that were measured"));
  // 584 samples/s where the curve has 383: over it, not under.
  CHECK_FALSE(says(page, "under the curve"));

  report.what_if->measured_cores = 5;
  page = render_html(report);
  CHECK_FALSE(says(page, "(extrapolated)"));
  CHECK_FALSE(says(page, "measured beyond"));
}

TEST_CASE("for a job far below its curve the page states another cause") {
  JobReport report = samples::input_bound();
  report.what_if->here_rate = 191.525;
  CHECK(says(what_if_text(report),
             "The job was 50% under the curve, and its loader used 1.59 of the "
             "1.63 cores granted"));
}

TEST_CASE("a curve without measurements is labelled as predicted") {
  JobReport report = samples::input_bound();
  report.what_if->measured_cores.reset();
  report.what_if->here_rate.reset();
  const std::string page = render_html(report);
  CHECK(says(page, "No number of cores was measured"));
  CHECK(says(page, "predicted"));
  CHECK_FALSE(says(page, "you are here:"));
  // The line of rates over time and its key remain.
  CHECK(lines(page, "measured") ==
        lines(render_html(samples::input_bound()), "measured") - 2);
}

TEST_CASE("the page states why no cores are sufficient or no curve is known") {
  JobReport report = samples::input_bound();
  report.what_if->enough_cores.reset();
  report.what_if->why_not_enough = "the loader has too few threads";
  CHECK(says(what_if_text(report),
             "No number of cores is enough: the loader has too few threads."));
  CHECK(says(what_if_text(samples::wasteful()),
             "Not known: the ceiling is not known."));
}

}  // namespace
}  // namespace penstock
