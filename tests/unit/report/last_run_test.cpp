#include "report/last_run.h"

#include "report/merge.h"
#include "tests/unit/catch.h"
#include "two_parts.h"

namespace penstock {
namespace {

// Two parts of a minute each, whose clocks differ by that.
std::vector<JobReport> parts_apart(double seconds) {
  auto parts = two_parts();
  for (JobReport& part : parts) {
    part.start_unix_s = parts[0].start_unix_s;
    part.updated_unix_s = part.start_unix_s + 60;
    part.end_unix_s = part.updated_unix_s;
  }
  parts[1].start_unix_s += seconds;
  parts[1].updated_unix_s += seconds;
  *parts[1].end_unix_s += seconds;
  for (TimelinePoint& it : parts[1].timeline) it.begin_unix_s += seconds;
  return parts;
}

}  // namespace

TEST_CASE("only parts of the last run are kept") {
  auto parts = two_parts();
  JobReport earlier = parts[0];
  earlier.start_unix_s -= 5000;
  earlier.end_unix_s = earlier.start_unix_s + 100;
  SECTION("on another node") { earlier.node = "c9"; }
  SECTION("on the same node") {}
  parts.insert(parts.begin(), earlier);
  JobReport foreign = parts[1];
  foreign.node = "c8";
  foreign.user_id = 7;
  foreign.start_unix_s -= 1;
  parts.push_back(foreign);
  const auto kept = parts_of_last_run(parts);
  REQUIRE(kept.size() == 2);
  CHECK(kept[0].node == "c2");
  CHECK(kept[1].node == "c1");
}

TEST_CASE("a node's part that is left out is named") {
  auto parts = two_parts();
  parts[0].start_unix_s += 5000;  // a later step, on the other node
  parts[0].updated_unix_s += 5000;
  *parts[0].end_unix_s += 5000;
  const auto kept = parts_of_last_run(parts);
  REQUIRE(kept.size() == 1);
  CHECK(kept[0].notes.back() ==
        "left out, as they ended before the others began, in an earlier run or "
        "an earlier step: the parts on c1");
}

TEST_CASE("a clock that is ten minutes ahead is set right") {
  const auto parts = parts_apart(600);
  CHECK(parts_of_last_run(parts).size() == 1);
  const auto kept = parts_of_last_run(parts, {{"c1", 598}, {"c2", -2}});
  REQUIRE(kept.size() == 2);
  CHECK(kept[0].node == "c1");
  CHECK(kept[0].start_unix_s == Approx(kept[1].start_unix_s + 2));
  CHECK(kept[0].run_s() == Approx(60));
  CHECK(kept[0].timeline.front().begin_unix_s ==
        Approx(parts[1].timeline.front().begin_unix_s - 598));
  CHECK(merge_reports(kept).notes.back() ==
        "the clock of c1 is 598 s ahead of the controller's: the times of its "
        "part are corrected");
}

TEST_CASE("a clock that is behind is set right where its part would be lost") {
  const auto kept =
      parts_of_last_run(parts_apart(-600), {{"c1", -603}, {"c2", -3}});
  REQUIRE(kept.size() == 2);
  CHECK(kept[1].node == "c1");
  CHECK(kept[1].start_unix_s == Approx(kept[0].start_unix_s + 3));
  // It overlaps the other: it may have come late.
  const auto late =
      parts_of_last_run(parts_apart(-30), {{"c1", -603}, {"c2", -3}});
  REQUIRE(late.size() == 2);
  CHECK(late[1].start_unix_s == Approx(late[0].start_unix_s - 30));
}

TEST_CASE("earlier steps are not taken for clocks that are behind") {
  struct Row {
    const char* what;
    double c1_ahead_s, c2_ahead_s;
  };
  for (const Row& row : {Row{"both came at once", -2, -2},
                         Row{"the controller's clock is ahead", -600, -600},
                         Row{"both came late, together", -1200, -1000},
                         Row{"it came late, but not so late", -90, -2}}) {
    CAPTURE(row.what);
    CHECK(parts_of_last_run(parts_apart(-200),
                            {{"c1", row.c1_ahead_s}, {"c2", row.c2_ahead_s}})
              .size() == 1);
  }
  // What is not known of one node is of no use for the others.
  CHECK(parts_of_last_run(parts_apart(-600), {{"c1", -603}}).size() == 1);
}

TEST_CASE("clocks that are all ahead are the controller's fault") {
  const auto kept =
      parts_of_last_run(parts_apart(5), {{"c1", 603}, {"c2", 598}});
  REQUIRE(kept.size() == 2);
  CHECK(kept[0].start_unix_s == kept[1].start_unix_s + 5);
  CHECK(kept[0].notes == parts_apart(5)[1].notes);
}

TEST_CASE("there are no parts of no job") {
  CHECK(parts_of_last_run({}).empty());
}

}  // namespace penstock
