#include "tools/advise/accounting.h"

#include "tests/unit/catch.h"

namespace penstock::advise {

TEST_CASE("sacct tells a job's state and the most memory of a task") {
  const Accounted it = parse_accounting(
      "7|COMPLETED|\n7.batch|COMPLETED|10240K\n7.0|COMPLETED|1.50G\n"
      "7.1|COMPLETED|12M\n9|FAILED|\n9.0|FAILED|64G\n77.0|FAILED|64G\n",
      7);
  CHECK(it.state == "COMPLETED");
  CHECK(it.memory_bytes == 1.5 * 1024 * 1024 * 1024);
}

TEST_CASE("of several runs the last one's state counts") {
  CHECK(parse_accounting("7|REQUEUED|\n7|CANCELLED by 1000|\n", 7).state ==
        "CANCELLED");
}

TEST_CASE("without accounting nothing is known") {
  for (const char* output :
       {"", "Slurm accounting storage is disabled\n", "7|RUNNING|\n7.0|x|y\n",
        "||\n", "|", "7.0|COMPLETED|0\n"}) {
    CHECK_FALSE(parse_accounting(output, 7).memory_bytes);
  }
  CHECK(parse_accounting("sacct: error\n", 7).state.empty());
}

}  // namespace penstock::advise
