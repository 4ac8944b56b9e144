// Text views against golden files. PENSTOCK_UPDATE_GOLDEN=1 rewrites them.
#include "report/render.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "report/text.h"
#include "samples.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

std::string golden(const std::string& name, const std::string& now) {
  std::string path = std::string(PENSTOCK_FIXTURES) + "/" + name;
  if (std::getenv("PENSTOCK_UPDATE_GOLDEN")) std::ofstream(path) << now;
  std::ifstream file(path);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

size_t widest(const std::string& text) {
  std::istringstream lines(text);
  size_t most = 0;
  for (std::string line; std::getline(lines, line);) {
    most = std::max(most, line.size());
  }
  return most;
}

bool ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c == '\n' || (c >= 0x20 && c < 0x7f);
  });
}

TEST_CASE("reports equal the golden files") {
  struct Row {
    const char* file;
    JobReport report;
  };
  const Row rows[] = {{"input_bound.txt", samples::input_bound()},
                      {"wasteful.txt", samples::wasteful()},
                      {"exchange_bound.txt", samples::exchange_bound()},
                      {"unknown.txt", samples::unknown()},
                      {"hostile.txt", samples::hostile()}};
  for (const Row& row : rows) {
    std::string text = render_text(row.report);
    CHECK(text == golden(row.file, text));
    CHECK(widest(text) <= 80);
    CHECK(ascii(text));
  }
}

TEST_CASE("a report names its user where the name is known") {
  JobReport report = samples::wasteful();
  CHECK(render_text(report).find("  of uid 1000, started") !=
        std::string::npos);
  report.user = "ada";
  CHECK(render_text(report).find("  of ada, started") != std::string::npos);
}

TEST_CASE("a report has the job's number as squeue prints it") {
  JobReport report = samples::wasteful();
  report.label = "4712";
  CHECK(render_text(report).starts_with("Job 4712 \"transformer\""));
  report.label = "4700_11 r2";
  CHECK(
      render_text(report).starts_with("Job 4712 (4700_11 r2) \"transformer\""));
}

TEST_CASE("a rank is named only if it waits far longer than the others") {
  JobReport report = samples::wasteful();
  SlowestRank& rank = report.slowest_rank.emplace();
  rank = {"c1", 0, 2, 0.41, 0.12, false};
  CHECK(slowest_rank_text(rank) ==
        "process 3 of task 0 on c1 waits for data for 41% of its time, the "
        "mean of all ranks is 12%: most of it for CPU");
  CHECK(rank.stands_out());
  rank.for_storage.reset();
  CHECK(slowest_rank_text(rank).ends_with("is 12%"));
  rank.waited = 0.16;  // 4 points
  CHECK_FALSE(rank.stands_out());
  CHECK(render_text(report).find("mean of all ranks") == std::string::npos);
  rank.waited = 0.5;
  rank.mean = 0.4;  // a quarter more
  CHECK_FALSE(rank.stands_out());
}

TEST_CASE("the use of GPUs is told as far as it is known") {
  CHECK(gpus_text({}).empty());
  CHECK(gpus_text({.count = 3}) == "3, whose use is not known");
  CHECK(gpus_text({8, 4, 0.9, {}, {}, {}}) ==
        "8, a kernel ran on 4 of them for 90% of the time");
  CHECK(gpus_text({1, 1, 0.5, 59, {}, {}}) ==
        "1, a kernel ran on it for 50% of the time");
  CHECK(gpus_text({1, 1, 0.5, 60, 8e9, 16e9}) ==
        "1, a kernel ran on it for 50% of the time, and none on it for 60.0 "
        "s at a time; at most 7.45 GB of 14.9 GB of its memory in use");
}

TEST_CASE("the live view equals its golden file") {
  std::string text = render_top(samples::node());
  CHECK(text == golden("top.txt", text));
  CHECK(widest(text) <= 80);
  CHECK(ascii(text));
}

TEST_CASE("names of any letters leave the live view's rows as they are") {
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  const auto usual = lines(render_top(samples::node()));
  for (const bool unicode : {false, true}) {
    for (const char* name : {"\u043e\u0431\u0443\u0447\u0435\u043d\u0438\u0435-"
                             "\u043c\u043e\u0434\u0435\u043b\u0438",
                             "\u5b66\u7fd2\u5b66\u7fd2\u5b66\u7fd2\u5b66\u7fd2",
                             "\xc2\x85 next"}) {
      CAPTURE(name, unicode);
      NodeStatus named = samples::node();
      for (JobReport& job : named.jobs) job.job_name = name;
      const std::string top = render_top(named, {.unicode = unicode});
      CHECK(lines(top) <= usual);  // a shorter row may fit where it did not
    }
  }
}

TEST_CASE("the live view shows the time since when the node is off") {
  NodeStatus status = samples::node();
  CHECK(render_top(status).find("off since") == std::string::npos);
  status.off_since_unix_s = 1780000000;
  CHECK(
      render_top(status).find("  off since 2026-05-28 20:26:40 UTC: jobs have "
                              "what Slurm gave them") != std::string::npos);
}

TEST_CASE("a report fits every width, with the largest figures too") {
  JobReport report = samples::input_bound();
  report.cores.granted_away = report.cores.used_away = 1e18;
  report.throughput.measured = Estimate{1e17, 1e16, 1e18};
  report.bandwidth.granted_bytes_per_s = 1e18;
  report.changes[1].cores_to = 1e18;
  report.changes[1].time_unix_s = 1e18;
  report.timeline[3].used_bytes_per_s = 1e18;
  report.timeline[4].rate = 1e18;
  report.timeline[4].duration_s = 1e18;
  for (int width : {-1, 60, 80, 132, 1000}) {
    size_t limit = std::clamp(width, 60, 200);
    CHECK(widest(render_text(report, {.width = width})) <= limit);
    CHECK(widest(render_top(samples::node(), {.width = width})) <= limit);
  }
}

TEST_CASE("colours do not change the text") {
  std::string text = render_text(samples::input_bound(), {.color = true});
  CHECK(text.find("\033[1;31mInput-bound") != std::string::npos);
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {
      i = text.find('m', i);
    } else {
      plain += text[i];
    }
  }
  CHECK(plain == render_text(samples::input_bound()));
}

// Columns of UTF-8 text; colours take none.
size_t columns(const std::string& line) {
  size_t count = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\033') {
      i = line.find('m', i);
    } else if ((static_cast<unsigned char>(line[i]) & 0xc0) != 0x80) {
      ++count;
    }
  }
  return count;
}

TEST_CASE("the timeline is drawn in blocks on a Unicode terminal") {
  const std::string ascii_text = render_text(samples::input_bound());
  for (int width : {60, 80, 132}) {
    const std::string text =
        render_text(samples::input_bound(),
                    {.width = width, .color = true, .unicode = true});
    CHECK(text.find("\u2588\u2588") != text.npos);
    CHECK(text.find("\033[1;31m") != text.npos);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      CHECK(columns(line) <= size_t(width));
    }
  }
  CHECK(ascii_text.find("cores granted   ---") != ascii_text.npos);
}

TEST_CASE("unknown lines of a timeline are not drawn") {
  JobReport report = samples::input_bound();
  CHECK(render_text(report).find("  read  ") != std::string::npos);
  for (TimelinePoint& point : report.timeline) point.used_bytes_per_s.reset();
  CHECK(render_text(report).find("  read  ") == std::string::npos);
  CHECK(render_text(report).find("grant changed ") != std::string::npos);
  report.changes.clear();
  CHECK(render_text(report).find("grant changed ") == std::string::npos);
  report.timeline.clear();
  CHECK(render_text(report).find("Course") == std::string::npos);
}

TEST_CASE("a running job's report is marked as provisional") {
  JobReport report = samples::input_bound();
  CHECK(render_text(report).find("provisional") == std::string::npos);
  report.running = true;
  CHECK(render_text(report).find("  provisional: the job runs, and these "
                                 "figures are not its last") !=
        std::string::npos);
}

TEST_CASE("only the latest changes are shown, and the others are counted") {
  JobReport report = samples::input_bound();
  report.changes.resize(30, report.changes[1]);
  report.changes_dropped = 5;
  std::string text = render_text(report);
  CHECK(text.find("(15 earlier ones: 10 in --json, 5 not kept)") !=
        std::string::npos);
  CHECK(text.find("task started") == std::string::npos);
}

TEST_CASE("a report without recommendations states why") {
  JobReport report = samples::input_bound();
  report.end_unix_s = report.start_unix_s + 5;
  std::string text = render_text(report);
  CHECK(text.find("nothing: the run is shorter than 30.0 s") !=
        std::string::npos);
  report = samples::input_bound();
  report.quality.pages_contradicted = true;
  text = render_text(report);
  CHECK(text.find("cannot be relied on") != std::string::npos);
  CHECK(text.find("#SBATCH") == std::string::npos);
}

TEST_CASE("cache hits are shown if the job has a cache") {
  JobReport report = samples::input_bound();
  CHECK(render_text(report, {}).find("Cache") == std::string::npos);
  report.cache = {0.75, 6000, 1.5 * 1073741824, 0.65, 1e9};
  const std::string text = render_text(report, {});
  CHECK(text.find("75% of the samples came from memory, 1.5 GB not read") !=
        std::string::npos);
  CHECK(text.find("65%") != std::string::npos);
  CHECK(text.find("other nodes") == std::string::npos);
  report.cache.peer_hits = 4500;
  report.cache.peer_bytes = 1073741824;
  CHECK(
      cache_text(report.cache) ==
      "75% of the samples came from memory (other nodes' 75% of these, 1 GB), "
      "1.5 GB not read from storage; it holds 65% of the data set");
  CHECK(render_text(report, {}).find("other nodes' 75%") != std::string::npos);
}

}  // namespace
}  // namespace penstock
