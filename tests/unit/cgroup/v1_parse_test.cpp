#include "cgroup/v1_parse.h"

#include "tests/unit/catch.h"

using namespace penstock;

TEST_CASE("the bytes read from one device are parsed") {
  const char* text =
      "254:0 Read 4096\n254:0 Write 10\n254:0 Sync 4096\n254:0 Total 4106\n"
      "7:0 Read 18446744073709551615\n7:0 Total 5\nTotal 4111\n";
  CHECK(*parse_io_read_bytes(text, "254:0") == 4096);
  CHECK(*parse_io_read_bytes(text, "7:0") == UINT64_MAX);
  CHECK(*parse_io_read_bytes(text, "7:1") == 0);
  CHECK(*parse_io_read_bytes("Total 0\n", "7:0") == 0);
  CHECK_FALSE(parse_io_read_bytes("7:0 Read x\n", "7:0").ok());
  CHECK_FALSE(parse_io_read_bytes("7:0 Read\n", "7:0").ok());
}

TEST_CASE("CPU time is parsed, and malformed text is refused") {
  CHECK(*parse_cpu_usage("123\n") == 123);
  CHECK_FALSE(parse_cpu_usage("").ok());
  CHECK_FALSE(parse_cpu_usage("x").ok());
}

TEST_CASE("only device numbers of the form MAJOR:MINOR are accepted") {
  CHECK(is_device("7:0"));
  CHECK(is_device("4294967295:1"));
  for (const char* bad :
       {"", "7", "7:", ":0", "7:0 ", "7:0\n8:0", "a:b", "7:0:1", "-7:0"}) {
    CAPTURE(bad);
    CHECK_FALSE(is_device(bad));
  }
}

TEST_CASE("only directories named job_ID belong to a job") {
  CHECK(job_dir(7) == "job_7");
  CHECK(parse_job_dir("job_7") == JobId{7});
  CHECK(parse_job_dir("job_4294967295") == JobId{4294967295});
  for (const char* other : {"job_", "job_07", "job_x", "job_7 ", "Job_7",
                            "job_4294967296", "step_7"}) {
    CAPTURE(other);
    CHECK_FALSE(parse_job_dir(other).has_value());
  }
}
