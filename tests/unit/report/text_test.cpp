#include "report/text.h"

#include <cmath>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE("texts of figures distinguish zero from unknown") {
  CHECK(figure_text(std::nullopt) == "-");
  CHECK(figure_text(0.0) == "0.00");
  CHECK(figure_text(0.904) == "0.90");
  CHECK(figure_text(12.34) == "12.3");
  CHECK(figure_text(4711.4) == "4711");
  CHECK(figure_text(1e18) == "1e+18");
  CHECK(share_text(std::nullopt) == "-");
  CHECK(share_text(0.0) == "0%");
  CHECK(share_text(0.985) == "98%");
  CHECK(rate_text(std::nullopt) == "-");
}

TEST_CASE("an interval without width is not shown") {
  CHECK(estimate_text(std::nullopt) == "-");
  CHECK(estimate_text(Estimate{0, 0, INFINITY}) == "-");
  CHECK(estimate_text(Estimate::exact(5)) == "5.00");
  CHECK(estimate_text(Estimate{5, 4, 6.5}) == "5.00 [4.00 to 6.50]");
}

TEST_CASE("a ratio needs both figures and a grant above zero") {
  CHECK(*ratio(1.0, 2.0) == 0.5);
  CHECK_FALSE(ratio(1.0, 0.0));
  CHECK_FALSE(ratio(std::nullopt, 1.0));
  CHECK_FALSE(ratio(1.0, std::nullopt));
}

TEST_CASE("durations and dates are formatted, invalid ones as a dash") {
  CHECK(duration_text(0) == "0.0 s");
  CHECK(duration_text(99.94) == "99.9 s");
  CHECK(duration_text(99.96) == "1 min 40 s");
  CHECK(duration_text(3599.6) == "1 h 00 min");
  CHECK(duration_text(7384) == "2 h 03 min");
  CHECK(duration_text(-1) == "-");
  CHECK(duration_text(std::nan("")) == "-");
  CHECK(date_text(0) == "1970-01-01 00:00:00 UTC");
  CHECK(date_text(1709251199.9) == "2024-02-29 23:59:59 UTC");
  CHECK(date_text(-1) == "-");
  CHECK(date_text(1e18) == "-");
}

TEST_CASE("lines break at spaces, with an indented continuation") {
  TextStyle style;
  style.width = 60;
  Page page(style);
  page.line(std::string(50, 'a') + " " + std::string(20, 'b') + "  " +
                std::string(70, 'c'),
            2);
  CHECK(page.take() == std::string(50, 'a') + "\n  " + std::string(20, 'b') +
                           "\n  " + std::string(58, 'c') + "\n  " +
                           std::string(12, 'c') + "\n");
}

TEST_CASE("a page prints only printable characters") {
  Page page(TextStyle{});
  page.line("a\033[31m\n\tb\x7f\xc3\xa9");
  CHECK(page.take() == "a?[31m??b??\n");
}

TEST_CASE("a page in UTF-8 keeps letters, and breaks between them") {
  TextStyle style;
  style.unicode = true;
  style.width = 60;
  Page page(style);
  page.line("\xc3\xa9t\xc3\xa9\033[31m \xe2\x80\xae");
  CHECK(page.take() == "\xc3\xa9t\xc3\xa9?[31m ?\n");
  page.line(std::string(60, 'a') + "\xc3\xa9");
  CHECK(page.take() == std::string(60, 'a') + "\n    \xc3\xa9\n");
  page.line(std::string(59, 'a') + "\xe5\xad\xa6");  // two columns
  CHECK(page.take() == std::string(59, 'a') + "\n    \xe5\xad\xa6\n");
}

TEST_CASE("bars fill the rest of the line") {
  TextStyle style;
  Page page(style);
  page.bar("full", 1);
  page.bar("none", 0);
  page.bar("over", 7);
  std::string full = std::string(75, '#') + "\n";
  CHECK(page.take() == "full " + full + "none\nover " + full);
  style.unicode = true;
  Page utf8(style);
  utf8.bar("one", 1.0 / 76);
  CHECK(utf8.take() == "one \u2588\n");
}

TEST_CASE("a line of figures distinguishes unknown from zero") {
  const std::vector<std::optional<double>> figures = {
      0, std::nullopt, 0.125, 0.126, 0.5, 1, 7, std::nan(""), -1};
  Page page{TextStyle{}};
  CHECK(page.line_cells() == 44);
  page.line_of_figures("rate", figures, "0 to 9");
  page.line_of_figures("none", {std::nullopt}, "");
  page.line_of_marks("marks", {true, false, true, false});
  CHECK(page.take() ==
        "  rate            _ _.-## _  0 to 9\n"
        "  none\n"
        "  marks           ^ ^\n");
  Page wide{TextStyle{.width = 100, .color = true, .unicode = true}};
  CHECK(wide.line_cells() == 64);
  wide.line_of_figures("rate", figures, "0 to 9", Page::Tone::kBad);
  CHECK(wide.take() ==
        "  rate            \033[1;31m\u2581 \u2581\u2582\u2584\u2588\u2588"
        " \u2581\033[0m  0 to 9\n");
}

TEST_CASE("colours enclose whole lines, and only on request") {
  TextStyle style;
  style.color = true;
  Page page(style);
  page.line("bad", 4, Page::Tone::kBad);
  page.line("plain");
  CHECK(page.take() == "\033[1;31mbad\033[0m\nplain\n");
}

TEST_CASE("offsets from a start and clock times are formatted") {
  CHECK(offset_text(61.25) == "+0:01:01.3");
  CHECK(offset_text(-5) == "+0:00:00.0");
  CHECK(clock_text(1767225661, 1) == "00:01:01");
  CHECK(clock_text(1767225661, 60) == "00:01");
  CHECK(clock_text(1767225661, 86400) == "01-01");
  CHECK(clock_text(-1, 1) == "-");
}

TEST_CASE("of lent cores the largest lenders are named, and the rest is told") {
  std::map<uint64_t, double> cores = {{0, 0.3}, {7, 0.5}, {8, 0.001}};
  CHECK(lent_by_text(largest_lenders(cores), 0.801) ==
        "job 7 0.50, idle CPUs 0.30");
  for (uint64_t id = 100; id < 200; ++id) cores[id] = 0.01;
  const auto largest = largest_lenders(cores);
  REQUIRE(largest.size() == kMaxLentBy);
  CHECK(largest.front() == LentBy{7, 0.5});
  CHECK(lent_by_text(largest, 1.801).ends_with("job 113 0.01, others 0.86"));
}

}  // namespace
}  // namespace penstock
