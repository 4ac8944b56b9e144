#include "report/json.h"

#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/lent_gain.h"
#include "samples.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

using nlohmann::json;

json document() { return json::parse(to_json(samples::input_bound())); }

std::string error_of(const json& changed) {
  Result<JobReport> report = parse_report(changed.dump());
  return report ? "" : report.error().message;
}

TEST_CASE("a report reads back unchanged") {
  for (const JobReport& report :
       {samples::input_bound(), samples::wasteful(), samples::exchange_bound(),
        samples::unknown()}) {
    Result<JobReport> again = parse_report(to_json(report));
    REQUIRE(again);
    CHECK(*again == report);
  }
}

TEST_CASE("a node's state reads back unchanged") {
  NodeStatus status = samples::node();
  status.jobs.pop_back();  // the malicious job's texts are truncated
  Result<NodeStatus> again = parse_node_status(to_json(status));
  REQUIRE(again);
  CHECK(*again == status);
}

TEST_CASE("the result of a switch reads back unchanged") {
  for (const NodeSwitch& done :
       {NodeSwitch{}, NodeSwitch{1780000000.5, 3, 1}}) {
    auto again = parse_node_switch(to_json(done));
    REQUIRE(again);
    CHECK(*again == done);
  }
  CHECK_FALSE(parse_node_switch(to_json(samples::node())));
}

TEST_CASE("JSON has the derived verdict, advice and errors") {
  json derived = document()["derived"];
  CHECK(derived["verdict"].get<std::string>().starts_with("Input-bound: 31%"));
  CHECK(derived["recommendations"].size() == 2);
  CHECK(derived["ceiling_error_arrival"].get<double>() ==
        Approx(812.0 / 846 - 1));
  CHECK(derived["lent_gain"].get<double>() ==
        Approx(*lent_gain(samples::input_bound())));
  json exchange = json::parse(to_json(samples::exchange_bound()));
  CHECK(exchange["breakdown"]["exchange_stall"]["seconds"] == 90);
  REQUIRE(exchange["derived"]["recommendations"].size() == 1);
  CHECK(exchange["derived"]["recommendations"][0]["lines"][0] ==
        "penstock.exchange.MirrorTrainer(model, optimizer, density=0.01)");
  json none = json::parse(to_json(samples::unknown()))["derived"];
  CHECK(none["ceiling_error_arrival"].is_null());
  CHECK(none["lent_gain"].is_null());
}

TEST_CASE("unknown is written as null, zero as zero") {
  json cores = json::parse(to_json(samples::wasteful()))["cores"];
  CHECK(cores["used_away"] == 0.0);
  cores = json::parse(to_json(samples::unknown()))["cores"];
  CHECK(cores["used_away"].is_null());
}

TEST_CASE("figures that a reader would refuse are not written") {
  JobReport report = samples::input_bound();
  report.cores.used_home = std::nan("");
  report.cores.used_away = -1e-15;
  report.cores.demand = Estimate{3, 3.0000001, 2.9};
  report.ceiling.predicted = Estimate{std::nan(""), 0, 0};
  report.bandwidth.demand_bytes_per_s = Estimate{0, 0, INFINITY};
  report.recommend_after_s = std::nan("");
  Result<JobReport> again = parse_report(to_json(report));
  REQUIRE(again);
  CHECK_FALSE(again->cores.used_home);
  CHECK(*again->cores.used_away == 0);
  CHECK(*again->cores.demand == Estimate::exact(3));
  CHECK_FALSE(again->ceiling.predicted);
  CHECK_FALSE(again->bandwidth.demand_bytes_per_s);
  CHECK(again->recommend_after_s == 0);
}

TEST_CASE("strings of any bytes are truncated and converted to UTF-8") {
  Result<JobReport> again = parse_report(to_json(samples::hostile()));
  REQUIRE(again);
  CHECK(again->job_name.size() <= kMaxReportTextBytes);
  CHECK(again->job_name.starts_with("\033[2J\n\"quoted\"\xef\xbf\xbd\xc3\xa9"));
  CHECK(again->notes.at(0).size() == kMaxReportTextBytes);
}

TEST_CASE("unknown keys are ignored, missing ones are errors") {
  json changed = document();
  changed["newer"] = 1;
  CHECK(error_of(changed).empty());
  changed["cores"].erase("demand");
  CHECK(error_of(changed) == "cores.demand is missing");
}

TEST_CASE("a report of an earlier version without newer figures can be read") {
  json earlier = document();
  earlier.erase("pressure");
  earlier.erase("timeline");
  earlier.erase("what_if");
  earlier["breakdown"].erase("exchange_stall");
  const Result<JobReport> report = parse_report(earlier.dump());
  REQUIRE(report);
  CHECK_FALSE(report->pressure.cpu_s);
  CHECK_FALSE(report->breakdown.parts.exchange_stall.seconds);
  CHECK(report->timeline.empty());
  CHECK_FALSE(report->what_if);
  CHECK(report->cores.demand);
}

TEST_CASE("each error names the key") {
  struct Row {
    const char* pointer;
    json value;
    const char* message;
  };
  const Row rows[] = {
      {"/job_id", -1, "job_id is not a whole number under 2^32"},
      {"/job_id", 4294967296, "job_id is not a whole number under 2^32"},
      {"/running", 1, "running is neither true nor false"},
      {"/node", 7, "node is not a text"},
      {"/start_unix_s", "x", "start_unix_s is not a number"},
      {"/cores", json::array(), "cores is not an object"},
      {"/cores/used_home", -0.5,
       "cores.used_home is out of range; allowed: 0 to 1e18"},
      {"/cores/demand/low", 99,
       "cores.demand has an interval that does not hold its value"},
      {"/breakdown/exchange_stall", 5,
       "breakdown.exchange_stall is not an object"},
      {"/changes", 5, "changes is not a list"},
      {"/changes/1/cause", "greed", "changes[1].cause is not a known name"},
      {"/quality/loader_source", nullptr,
       "quality.loader_source is not a text"},
      {"/quality/gaps", 1.5, "quality.gaps is not a whole number"},
      {"/what_if/points/2/cores", 0.5,
       "what_if has points whose cores do not ascend"},
      {"/what_if/points/1/rate/high", 1,
       "what_if.points[1].rate has an interval that does not hold its value"},
      {"/what_if/points", json::array_t(65),
       "what_if.points has more than 64 entries"},
      {"/what_if/notes", json::array({"", "", "", "", ""}),
       "what_if.notes has more than 4 entries"},
      {"/kind", "node_status", "kind is not job_report"},
      {"/schema_version", 3,
       "schema_version is none that this program reads; allowed: 1 to 2"},
      {"/schema_version", "1",
       "schema_version is none that this program reads; allowed: 1 to 2"}};
  for (const Row& row : rows) {
    json changed = document();
    changed[json::json_pointer(row.pointer)] = row.value;
    CHECK(error_of(changed) == row.message);
  }
}

TEST_CASE("lists and texts beyond their limits are refused") {
  json changed = document();
  json change = changed["changes"][0];
  changed["changes"] = std::vector<json>(kMaxGrantChanges + 1, change);
  Result<JobReport> report = parse_report(changed.dump());
  REQUIRE_FALSE(report);
  CHECK(report.error().code == Code::kLimit);
  CHECK(report.error().message == "changes has more than 1024 entries");
  report = parse_report(std::string(kMaxReportJsonBytes + 1, ' '));
  REQUIRE_FALSE(report);
  CHECK(report.error().code == Code::kLimit);
}

TEST_CASE("each error of a timeline names the key and index") {
  struct Row {
    const char* pointer;
    json value;
    const char* message;
  };
  const Row rows[] = {
      {"", 5, "timeline is not an object"},
      {"/begin_unix_s", 5, "timeline.begin_unix_s is missing or no list"},
      {"/begin_unix_s/3", nullptr, "timeline.begin_unix_s[3] is not a number"},
      {"/begin_unix_s/3", 1,
       "timeline.begin_unix_s[3] is before the entry before it"},
      {"/duration_s/0", -1,
       "timeline.duration_s[0] is out of range; allowed: 0 to 1e18"},
      {"/duration_s", "x", "timeline.duration_s is not a list"},
      {"/rate", {1, 2}, "timeline.rate has 2 entries and begin_unix_s 26"},
      {"/rate/7", "x", "timeline.rate[7] is not a number"},
      {"/compute/9", 1.5,
       "timeline.compute[9] is out of range; allowed: 0 to 1"},
      {"/exchange_stall/9", 0.5,
       "timeline[9] has shares that exceed 1 together"}};
  for (const Row& row : rows) {
    json changed = document();
    changed[json::json_pointer(std::string("/timeline") + row.pointer)] =
        row.value;
    CHECK(error_of(changed) == row.message);
  }
  json changed = document();
  changed["timeline"].erase("prep_stall");
  CHECK(error_of(changed) == "timeline.prep_stall is missing");
  changed["timeline"]["begin_unix_s"] =
      std::vector<double>(kMaxParsedTimelinePoints + 1, 0.0);
  const Result<JobReport> report = parse_report(changed.dump());
  REQUIRE_FALSE(report);
  CHECK(report.error().code == Code::kLimit);
  CHECK(report.error().message == "timeline has more than 16384 points");
}

TEST_CASE(
    "a timeline is written with few digits, within the ranges for reading") {
  JobReport report = samples::unknown();
  TimelinePoint odd{1767225600.12345, 0.99996};
  odd.used_home_cores = 1.23456789;
  odd.used_away_cores = -1e-15;
  odd.rate = std::nan("");
  odd.used_bytes_per_s = 123456789;
  odd.shares.compute = 1 + 1e-12;
  report.timeline = {odd};
  const std::string text = to_json(report);
  INFO(text);
  CHECK(text.find("\"begin_unix_s\": [1767225600.123]") != text.npos);
  CHECK(text.find("\"duration_s\": [1]") != text.npos);
  const Result<JobReport> again = parse_report(text);
  REQUIRE(again);
  const TimelinePoint& it = again->timeline.at(0);
  CHECK(*it.used_home_cores == 1.235);
  CHECK(*it.used_away_cores == 0);
  CHECK(*it.used_bytes_per_s == 1.235e8);
  CHECK_FALSE(it.rate);
  CHECK(*it.shares.compute == 1);
}

TEST_CASE("the longest readable timeline can be written") {
  JobReport report = samples::input_bound();
  const std::vector<TimelinePoint> some = report.timeline;
  while (report.timeline.size() < kMaxParsedTimelinePoints) {
    TimelinePoint point = some[report.timeline.size() % some.size()];
    point.begin_unix_s = report.timeline.back().begin_unix_s + 0.123;
    point.duration_s = 0.123;
    for (auto* wide : {&point.used_home_cores, &point.used_away_cores,
                       &point.used_trainer_cores, &point.rate}) {
      *wide = 1.23456e-10;
    }
    report.timeline.push_back(point);
  }
  const std::string text = to_json(report);
  CHECK(text.size() < kMaxReportJsonBytes / 2);
  const Result<JobReport> again = parse_report(text);
  REQUIRE(again);
  CHECK(again->timeline.size() == kMaxParsedTimelinePoints);
}

TEST_CASE("a node's state has no timeline") {
  NodeStatus status = samples::node();
  status.jobs[0].timeline = samples::input_bound().timeline;
  CHECK_FALSE(json::parse(to_json(status))["jobs"][0].contains("timeline"));
}

TEST_CASE("a breakdown that does not add up is recomputed") {
  json changed = document();
  changed["breakdown"]["unattributed_s"] = 1e6;
  changed["breakdown"]["compute"]["seconds"] = 1e6;
  Result<JobReport> report = parse_report(changed.dump());
  REQUIRE(report);
  const Breakdown& it = report->breakdown;
  CHECK(it.unattributed_s == 0);
  CHECK(*it.parts.compute.seconds + *it.parts.fetch_stall.seconds +
            *it.parts.prep_stall.seconds ==
        Approx(it.wall_s));
}

TEST_CASE("text that is not a report is refused") {
  for (std::string text :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"),
        std::string("\0\xff", 2), std::string(100000, '['),
        std::string(100000, '{'), std::string("{} x"),
        to_json(samples::input_bound()).substr(0, 2000)}) {
    Result<JobReport> report = parse_report(text);
    REQUIRE_FALSE(report);
    CHECK_FALSE(report.error().message.empty());
  }
  CHECK_FALSE(parse_node_status(to_json(samples::input_bound())));
}

// Calls visit with each key of each object in the document.
void each_key(const json& in, const std::function<void(std::string)>& visit) {
  for (const auto& [key, value] : in.items()) {
    if (in.is_object()) visit(key);
    if (value.is_structured()) each_key(value, visit);
  }
}

TEST_CASE("docs/report.md names every key") {
  std::ifstream file(PENSTOCK_DOCS "/report.md");
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  for (const std::string& written :
       {to_json(samples::input_bound()), to_json(samples::node())}) {
    each_key(json::parse(written), [&](const std::string& key) {
      INFO(key);
      bool named = text.str().find("`" + key + "`") != std::string::npos ||
                   text.str().find("\"" + key + "\"") != std::string::npos;
      CHECK(named);
    });
  }
}

}  // namespace
}  // namespace penstock
