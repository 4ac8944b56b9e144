#include "tools/advise/print.h"

#include "tests/unit/catch.h"

namespace penstock::advise {
namespace {

Advice sample() {
  Advice out;
  out.basis = "the report of job 4711, 2 h 00 min long";
  out.lines = {"num_workers=6", "#SBATCH --cpus-per-task=7"};
  Choice asked;
  asked.rate = {190, 180, 200};
  asked.hours = 2;
  asked.core_hours = 2;
  asked.bytes_per_s = 19e6;
  Choice advised = asked;
  advised.what = Choice::What::kAdvised;
  advised.cpus_per_task = 7;
  advised.rate = {1164, 1000, 1200};
  out.choices = {asked, advised};
  out.advised_cpus_per_task = 7;
  out.notes = {"a task used at most 3 GB of memory"};
  out.nodes = FittingNodes{"gpu", 3, 1, 8};
  return out;
}

Request request() {
  Request out;
  out.job_name = "train\x1b[7m";
  out.nodes = 2;
  out.tasks_per_node = 4;
  out.gpus_per_node = 4;
  out.gpu_type = "a100";
  return out;
}

}  // namespace

TEST_CASE("the text has the lines, a table of what is known, and notes") {
  CHECK(
      advice_text(request(), sample(), {}) ==
      "train?[7m: 2 nodes, 4 tasks with 1 CPU each, 4 GPUs a100 per node\n"
      "By the report of job 4711, 2 h 00 min long\n"
      "\n"
      "  num_workers=6\n"
      "  #SBATCH --cpus-per-task=7\n"
      "\n"
      "              CPUs/task              samples/s        time core hours\n"
      "  as asked            1       190 [180 to 200]  2 h 00 min       2.00\n"
      "  advised             7    1164 [1000 to 1200]  2 h 00 min       2.00\n"
      "\n"
      "Storage: at 1164 samples/s it reads 18.1 MB/s\n"
      "Nodes: 3 of 8 of partition gpu fit; 1 more would, but are down or "
      "drained\n"
      "- a task used at most 3 GB of memory.\n");
}

TEST_CASE("no line says that nothing would help") {
  Advice advice = sample();
  advice.lines.clear();
  CHECK_THAT(advice_text(request(), advice, {}),
             Catch::Matchers::ContainsSubstring("Ask for what you ask for"));
}

TEST_CASE("JSON has the same, with null for what is not known") {
  const nlohmann::json json = advice_json(request(), sample());
  CHECK(json["lines"].size() == 2);
  CHECK(json["cpus_per_task"] == 7);
  CHECK(json["choices"][1]["what"] == "advised");
  CHECK(json["choices"][1]["samples_per_s"]["low"] == 1000);
  CHECK(json["choices"][0]["gpu_hours"].is_null());
  CHECK(json["memory_bytes"].is_null());
  CHECK(json["nodes"]["fitting"] == 3);
  CHECK(advice_json(request(), {})["nodes"].is_null());
}

}  // namespace penstock::advise
