#include "tools/penstock/timeline_csv.h"

#include "tests/unit/catch.h"

namespace penstock {

TEST_CASE("a timeline's CSV has a record for each point") {
  TimelinePoint point;
  point.begin_unix_s = 1780000000.25;
  point.duration_s = 1;
  point.used_home_cores = 0.5;
  point.rate = 120;
  point.shares.prep_stall = 0.25;
  CHECK(timeline_csv({point}) ==
        "begin_unix_s,duration_s,granted_home_cores,granted_away_cores,"
        "used_home_cores,used_away_cores,used_trainer_cores,"
        "granted_bytes_per_s,used_bytes_per_s,rate,predicted_rate,compute,"
        "fetch_stall,prep_stall,exchange_stall\r\n"
        "1780000000.25,1,,,0.5,,,,,120,,,,0.25,\r\n");
}

TEST_CASE("an empty timeline's CSV has the names") {
  CHECK(timeline_csv({}).starts_with("begin_unix_s,"));
  CHECK(timeline_csv({}).find('\n') == timeline_csv({}).size() - 1);
}

}  // namespace penstock
