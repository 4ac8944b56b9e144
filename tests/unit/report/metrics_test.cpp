// The text for Prometheus against a golden file, which
// tests/packaging/test_metrics.py checks against the format's rules.
// PENSTOCK_UPDATE_GOLDEN=1 rewrites it.
#include "report/metrics.h"

#include <cstdlib>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

#include "samples.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

std::string golden(const std::string& now) {
  const std::string path = std::string(PENSTOCK_FIXTURES) + "/node.prom";
  if (std::getenv("PENSTOCK_UPDATE_GOLDEN")) std::ofstream(path) << now;
  std::ifstream file(path);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

NodeMetrics empty_node() {
  NodeMetrics metrics;
  metrics.status.node = "c1";
  return metrics;
}

// A label value as Prometheus reads it; nullopt if it is malformed.
std::optional<std::string> unescaped(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' || text[i] == '\n') return std::nullopt;
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    if (text[i] != '\\' && text[i] != '"' && text[i] != 'n')
      return std::nullopt;
    out += text[i] == 'n' ? '\n' : text[i];
  }
  return out;
}

TEST_CASE("metrics equal the golden file") {
  const std::string text = to_prometheus(samples::metrics());
  CHECK(text == golden(text));
}

TEST_CASE("unknown values are omitted, zeros are not") {
  const std::string text = to_prometheus(samples::metrics());
  CHECK(has(text,
            "penstock_job_cpu_seconds_total{hostname=\"c1\","
            "jobid=\"4711\",place=\"away\"} 221.52\n"));
  CHECK_FALSE(has(text,
                  "penstock_job_samples_total{hostname=\"c1\","
                  "jobid=\"4713\""));
  CHECK_FALSE(has(text, "jobid=\"4713\",cause=\"fetch\"} "));
  CHECK(has(text, "jobid=\"4713\",cause=\"unattributed\"} 45\n"));
  CHECK(has(text, "jobid=\"4713\",place=\"away\"} 0\n"));
  CHECK(has(text, "jobid=\"4713\",cause=\"recall\"} 0\n"));
  // Without a recall its quantiles are unknown, its count is known.
  CHECK_FALSE(has(text,
                  "penstock_recall_duration_seconds{hostname=\"c1\","
                  "quantile"));
  CHECK(has(text,
            "penstock_recall_duration_seconds_count{hostname=\"c1\"} "
            "0\n"));
}

TEST_CASE("NaN and infinity are omitted") {
  NodeMetrics metrics = empty_node();
  metrics.lent_cores = std::numeric_limits<double>::quiet_NaN();
  metrics.idle_cores = std::numeric_limits<double>::infinity();
  const std::string text = to_prometheus(metrics);
  CHECK_FALSE(has(text, "penstock_node_lent_cores"));
  CHECK_FALSE(has(text, "penstock_node_idle_cores"));
}

TEST_CASE("without jobs and pools their metrics are absent") {
  const std::string text = to_prometheus(empty_node());
  CHECK_FALSE(has(text, "penstock_job_"));
  CHECK_FALSE(has(text, "penstock_pool_"));
  CHECK(has(text, "penstock_node_jobs{hostname=\"c1\"} 0\n"));
}

TEST_CASE("metrics contain no text of a user and no user id") {
  NodeMetrics metrics = samples::metrics();
  for (JobReport& report : metrics.status.jobs) {
    report.job_name = report.ceiling.predicted_from = "SECRET";
    report.user_id = 987654321;
    report.notes = {"SECRET"};
    report.options = {{"loader-match", "SECRET"}};
  }
  const std::string text = to_prometheus(metrics);
  CHECK_FALSE(has(text, "SECRET"));
  CHECK_FALSE(has(text, "987654321"));
}

TEST_CASE("a metric reports whether the node is switched off") {
  NodeMetrics metrics = empty_node();
  CHECK(has(to_prometheus(metrics),
            "penstock_node_switched_off{hostname=\"c1\"} 0\n"));
  metrics.status.off_since_unix_s = 1;
  CHECK(has(to_prometheus(metrics),
            "penstock_node_switched_off{hostname=\"c1\"} 1\n"));
}

// For any label value the lines are the same, and Prometheus reads the value
// back, except for bytes other than printable ASCII.
TEST_CASE("no label value breaks the text") {
  const unsigned seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const std::string pieces[] = {"\\",
                                "\"",
                                "\n",
                                "\r",
                                "{",
                                "}",
                                ",",
                                "=",
                                " ",
                                "#",
                                std::string(1, '\0'),
                                "\xff",
                                "\xc3\xa9",
                                "a",
                                "\\n",
                                "\t",
                                "\x7f"};
  const size_t lines = lines_of(to_prometheus(samples::metrics())).size();
  for (int round = 0; round < 500; ++round) {
    std::string value;
    for (size_t length = random() % 12; length > 0; --length) {
      value += pieces[random() % std::size(pieces)];
    }
    NodeMetrics metrics = samples::metrics();
    metrics.status.node = metrics.status.version = value;
    metrics.status.policy = metrics.status.pools[0].name = value;
    metrics.status.jobs[0].bandwidth.pool = value;
    const std::vector<std::string> found = lines_of(to_prometheus(metrics));
    REQUIRE(found.size() == lines);
    std::string expected = value;
    for (char& c : expected) {
      if (c != '\n' && (c < 0x20 || c > 0x7e)) c = '?';
    }
    const std::string before = "penstock_node_jobs{hostname=\"";
    const std::string after = "\"} 4";
    for (const std::string& line : found) {
      if (!line.starts_with(before)) continue;
      REQUIRE(line.ends_with(after));
      CHECK(unescaped(line.substr(
                before.size(), line.size() - before.size() - after.size())) ==
            expected);
    }
  }
}

}  // namespace
}  // namespace penstock
