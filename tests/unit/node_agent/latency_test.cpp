#include "node_agent/plan/latency.h"

#include "tests/unit/catch.h"

using penstock::LatencyRecord;

TEST_CASE("percentiles use the nearest rank") {
  LatencyRecord record;
  for (int i = 1; i <= 100; ++i) record.add_ms(i);
  CHECK(record.count() == 100);
  CHECK(record.percentile_ms(0.5) == 50);
  CHECK(record.percentile_ms(0.99) == 99);
  CHECK(record.percentile_ms(1.0) == 100);
  CHECK(record.percentile_ms(0.0) == 1);
}

TEST_CASE("an empty record has percentiles of zero") {
  CHECK(LatencyRecord().percentile_ms(0.99) == 0);
}

TEST_CASE("old values are dropped, the maximum, count and sum are kept") {
  LatencyRecord record;
  record.add_ms(1000);
  for (size_t i = 0; i < LatencyRecord::kKept; ++i) record.add_ms(1);
  CHECK(record.percentile_ms(1.0) == 1);
  CHECK(record.max_ms() == 1000);
  CHECK(record.count() == LatencyRecord::kKept + 1);
  CHECK(record.sum_ms() == 1000 + double(LatencyRecord::kKept));
}
