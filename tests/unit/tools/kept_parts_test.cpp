#include "tools/penstock/kept_parts.h"

#include <tuple>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

KeptPart part(const std::string& node, double updated_unix_s, double age_s,
              bool running = true) {
  KeptPart out;
  out.report.node = node;
  out.report.start_unix_s = 1000;
  out.report.updated_unix_s = updated_unix_s;
  out.report.running = running;
  out.age_s = age_s;
  return out;
}

}  // namespace

TEST_CASE("the nodes' clocks are those by which most parts came") {
  KeptParts kept;
  // The second controller's clock is ten minutes behind, and it lacks one.
  for (const auto& [node, controller, ahead_s] :
       {std::tuple("a", 1, 1198.0), std::tuple("a", 0, 598.0),
        std::tuple("b", 0, -2.0), std::tuple("a", 0, 599.0)}) {
    kept.parts.push_back(part(node, 2000 + ahead_s, 10));
    kept.parts.back().controller = size_t(controller);
    kept.parts.back().clock_ahead_s = ahead_s;
  }
  kept.parts.push_back(part("c", 2000, 9));  // of an earlier release's
  CHECK(clocks_of(kept).empty());            // it may have been restarted
  kept.restarts = 1;
  CHECK(clocks_of(kept).empty());
  kept.restarts = 0;
  CHECK(clocks_of(kept) ==
        std::map<std::string, double>{{"a", 599}, {"b", -2}});
  CHECK(clocks_of({.parts = {}, .label = "", .restarts = 0, .faults = {}})
            .empty());
}

TEST_CASE("parts of a running job run on") {
  std::vector<KeptPart> parts = {part("a", 2000, 10), part("b", 2000, 59)};
  CHECK(settle_parts(parts, "RUNNING", {}).empty());
  CHECK(parts[0].report.running);
  CHECK(parts[1].report.running);
}

TEST_CASE("a silent node of a running job is named") {
  std::vector<KeptPart> parts = {part("a", 2000, 10), part("b", 1500, 500)};
  const auto notes = settle_parts(parts, "RUNNING", {});
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] ==
        "no controller has heard of the job on b for more than 3 min 00 s: its "
        "part is of before");
  CHECK(parts[1].report.running);
}

TEST_CASE("an ended job's parts end where the last word of them is") {
  std::vector<KeptPart> parts = {part("a", 2000, 500, false),
                                 part("b", 1500, 500)};
  const auto notes = settle_parts(parts, "NODE_FAIL", {});
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] ==
        "penstockd on b did not tell the job's end: its part ends before");
  CHECK_FALSE(parts[1].report.running);
  CHECK(parts[1].report.end_unix_s == 1500);
}

TEST_CASE("the last part of a job that has just ended may be on its way") {
  std::vector<KeptPart> parts = {part("a", 2000, 5)};
  const auto notes = settle_parts(parts, "COMPLETED", {});
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] ==
        "the job is COMPLETED; what penstockd on a tells of its end is on its "
        "way");
  CHECK(parts[0].report.running);
}

TEST_CASE("without a word of Slurm's, silence tells") {
  std::vector<KeptPart> parts = {part("a", 2000, 10)};
  CHECK(settle_parts(parts, "", {}).empty());
  CHECK(parts[0].report.running);
  parts = {part("a", 2000, 200)};
  CHECK(settle_parts(parts, "", {}).size() == 1);
  CHECK_FALSE(parts[0].report.running);
}

TEST_CASE("of several controllers' parts of a node the latest counts") {
  std::vector<KeptPart> parts = {
      part("a", 2000, 500), part("a", 2600, 5, false), part("a", 1200, 900)};
  CHECK(settle_parts(parts, "RUNNING", {}).empty());
  std::vector<KeptPart> none;
  CHECK(settle_parts(none, "", {}).empty());
}

TEST_CASE("parts of nodes of an earlier run are no news") {
  std::vector<KeptPart> parts = {part("a", 1200, 900), part("b", 2000, 5)};
  CHECK(settle_parts(parts, "RUNNING", {"b", "c"}).empty());
  CHECK_FALSE(parts[0].report.running);
  CHECK(parts[1].report.running);
}

TEST_CASE("only a job that may run again is alive") {
  CHECK(is_alive("RUNNING"));
  CHECK(is_alive("SUSPENDED"));
  CHECK(is_alive("PENDING"));
  CHECK_FALSE(is_alive("COMPLETING"));
  CHECK_FALSE(is_alive("CANCELLED by 0"));
  CHECK_FALSE(is_alive(""));
}

}  // namespace penstock
