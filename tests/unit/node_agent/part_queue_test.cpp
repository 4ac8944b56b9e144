#include "node_agent/plan/part_queue.h"

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

using Keys = std::vector<PartKey>;

Keys keys(const std::vector<DuePart>& due) {
  Keys out;
  for (const DuePart& it : due) out.push_back(it.key);
  return out;
}

constexpr PartKey kFirst{1, 1000}, kSecond{2, 900}, kThird{3, 2000};

}  // namespace

TEST_CASE("the name of a part's file is read back, other names are none") {
  const PartKey key = part_key(4711, 1767225600.1234);
  CHECK(part_name(key) == "part.4711.1767225600123");
  CHECK(parse_part_name(part_name(key)) == key);
  for (const char* name :
       {"part.new", "part.", "part.1", "part.1.", "part.x.1", "part.0.1",
        "part.1.2.3", "part.01.1", "part.1.-1", "tasks.json", ""}) {
    CAPTURE(name);
    CHECK_FALSE(parse_part_name(name));
  }
}

TEST_CASE("parts are sent in the order in which they came, a few at once") {
  PartQueue queue(1);
  for (const PartKey& key : {kFirst, kSecond, kThird}) queue.add(key, 1);
  CHECK(keys(queue.due(0, 2)) == Keys{kFirst, kSecond});
  CHECK(keys(queue.due(0, 2)) == Keys{kThird});
  CHECK(queue.due(0, 2).empty());
}

TEST_CASE("a part is sent again after pauses that double") {
  PartQueue queue(1);
  queue.add(kFirst, 1);
  double now_s = 0;
  for (double pause_s = PartQueue::kFirstPause_s; pause_s < 1000;
       pause_s *= 2) {
    CHECK(keys(queue.due(now_s, 9)) == Keys{kFirst});
    const double waits_s = std::min(pause_s, PartQueue::kLongestPause_s);
    CHECK(queue.due(now_s + waits_s - 0.01, 9).empty());
    now_s += waits_s;
  }
  queue.hurry(0);
  CHECK(keys(queue.due(now_s - 100, 9)) == Keys{kFirst});
}

TEST_CASE("a part is let go once all controllers have it") {
  PartQueue queue(2);
  queue.add(kFirst, 1);
  CHECK_FALSE(queue.kept(kFirst, 1, 1));
  CHECK_FALSE(queue.kept(kFirst, 1, 1));   // said twice
  CHECK_FALSE(queue.kept(kSecond, 1, 0));  // unknown
  CHECK(queue.kept(kFirst, 1, 0));
  CHECK(queue.size() == 0);
  CHECK(queue.lost() == 0);
}

TEST_CASE("a later report of a run has to be kept anew") {
  PartQueue queue(1);
  queue.add(kFirst, 1);
  queue.add(kFirst, 2);  // before the controller has answered
  CHECK_FALSE(queue.kept(kFirst, 1, 0));
  CHECK(keys(queue.due(0, 9)) == Keys{kFirst});
  CHECK(queue.kept(kFirst, 2, 0));
}

TEST_CASE("a part goes to those controllers alone that lack it") {
  PartQueue queue(3);
  queue.add(kFirst, 1);
  CHECK_FALSE(queue.kept(kFirst, 1, 1));
  CHECK(queue.due(0, 9) == std::vector<DuePart>{{kFirst, {0, 2}}});
  queue.hurry(1);  // it has the part
  CHECK(queue.due(0, 9).empty());
  queue.hurry(2);
  CHECK(queue.due(0, 9) == std::vector<DuePart>{{kFirst, {0, 2}}});
}

TEST_CASE("of too many parts the oldest goes, first of those that one keeps") {
  PartQueue queue(2);
  for (uint64_t job = 1; job <= PartQueue::kMaxParts; ++job) {
    CHECK_FALSE(queue.add({job, 5}, 1));
  }
  CHECK_FALSE(queue.kept({7, 5}, 1, 0));
  CHECK(queue.add({1000, 5}, 1) == PartKey{7, 5});
  CHECK(queue.lost() == 0);
  CHECK(queue.add({1001, 5}, 1) == PartKey{1, 5});
  CHECK(queue.lost() == 1);
  CHECK(queue.size() == PartQueue::kMaxParts);
  queue.drop({2, 5});
  CHECK(queue.lost() == 2);
}
