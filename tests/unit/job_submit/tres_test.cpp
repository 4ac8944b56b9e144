#include "select_ext/job_submit/tres.h"

#include <string>

#include "tests/unit/catch.h"

using namespace penstock::job_submit;  // NOLINT: the unit under test

TEST_CASE("tres: counts are parsed in every form of Slurm") {
  CHECK(gres_count("gres:gpu:2", "gpu") == 2);
  CHECK(gres_count("gres/gpu:2", "gpu") == 2);
  CHECK(gres_count("gres:gpu=2", "gpu") == 2);
  CHECK(gres_count("gpu:2", "gpu") == 2);
  CHECK(gres_count("gres:gpu", "gpu") == 1);
  CHECK(gres_count("gres:gpu:a100", "gpu") == 1);
  CHECK(gres_count("gres:gpu:a100:4", "gpu") == 4);
  CHECK(gres_count("gres:gpu:0", "gpu") == 0);
  CHECK(gres_count("gres:gpu:2K", "gpu") == 2048);
  CHECK(gres_count("gres:gpu:1g", "gpu") == kMaxCount);
  CHECK(gres_count("gres:loader_bw:3,gres:gpu:1", "gpu") == 1);
  CHECK(gres_count("gres:gpu:a100:1,gres:gpu:v100:2", "gpu") == 3);
  CHECK(gres_count("gres:gpu:1;gres:gpu:2", "gpu") == 3);
}

TEST_CASE("tres: GRES are distinguished from other resources") {
  for (const char* list : {"gres:gpu:2", "gres/gpu:2", "gpu", "gres:none",
                           "cpu=2,gres/gpu=1", "license/a=1,gres/mps=100"}) {
    INFO(list);
    CHECK(names_any_gres(list));
  }
  for (const char* list :
       {"", ",", "cpu=2", "cpu:2", "cpu=2,mem=4G", "license/matlab=1"}) {
    INFO(list);
    CHECK_FALSE(names_any_gres(list));
  }
}

TEST_CASE("tres: other names and malformed lists count as zero") {
  for (const char* list :
       {"", ",", ";;,", "gres:", "gres:gpux:2", "gres:xgpu:2", "gres:shard:4",
        "gres:mps:100", ":", "="})
    CHECK(gres_count(list, "gpu") == 0);
}

TEST_CASE("tres: a huge count is limited") {
  CHECK(gres_count("gres:gpu:" + std::string(40, '9'), "gpu") == kMaxCount);
  CHECK(gres_count("gres:gpu:999999,gres:gpu:999999", "gpu") == kMaxCount);
}

TEST_CASE("tres: names are found with any count") {
  CHECK(names_gres("gres:gpu:1,gres:loader_cpu:0", "loader_cpu"));
  CHECK(names_gres("loader_cpu", "loader_cpu"));
  CHECK_FALSE(names_gres("gres:gpu:loader_cpu:1", "loader_cpu"));
  CHECK_FALSE(names_gres("", "loader_cpu"));
}

TEST_CASE("tres: types of a GRES are parsed") {
  CHECK(gres_type("gres:gpu:a100:4", "gpu") == "a100");
  CHECK(gres_type("gres:foo:x:1,gres:gpu:v100", "gpu") == "v100");
  CHECK(gres_type("gres:gpu:4", "gpu").empty());
  CHECK(gres_type("gres:foo:x:1", "gpu").empty());
}
