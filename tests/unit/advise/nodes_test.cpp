#include "tools/advise/nodes.h"

#include "tests/unit/catch.h"

namespace penstock::advise {
namespace {

constexpr const char* kOutput =
    "main*|3|16|64000|idle|(null)\n"
    "main*|1|64|256000|down*|(null)\n"
    "gpu|2|64|512000|mix|gpu:a100:4(S:0-1)\n"
    "gpu|1|64|512000|alloc~|gpu:a100:4(S:0-1)\n"
    "gpu|1|128|1024000|drain|gpu:h100:8\n";

std::vector<NodeGroup> groups(const std::string& partition) {
  const auto all = parse_nodes(kOutput);
  REQUIRE(all);
  Request request;
  request.partition = partition;
  auto out = nodes_for(request, *all);
  REQUIRE(out);
  return *std::move(out);
}

}  // namespace

TEST_CASE("sinfo's lines are groups of like nodes") {
  const auto all = parse_nodes(kOutput);
  REQUIRE(all);
  REQUIRE(all->size() == 5);
  const NodeGroup& gpu = (*all)[2];
  CHECK(gpu.partition == "gpu");
  CHECK_FALSE(gpu.is_default);
  CHECK(gpu.nodes == 2);
  CHECK(gpu.cpus == 64);
  CHECK(gpu.memory_bytes == 512000 * 1024.0 * 1024);
  REQUIRE(gpu.gpus.size() == 1);
  CHECK(gpu.gpus[0].type == "a100");
  CHECK(gpu.is_up);
  CHECK((*all)[0].is_default);
  CHECK_FALSE((*all)[1].is_up);
  CHECK((*all)[3].is_up);  // asleep
  CHECK_FALSE((*all)[4].is_up);
  CHECK(parse_nodes("")->empty());
}

TEST_CASE("a line that is not sinfo's is refused") {
  for (const char* line :
       {"main*", "main*|x|1|1|idle|", "|1|1|1|idle|x", "a|1|0|1|idle|x",
        "a|1|1|99999999999999|idle|x", "sinfo: error: no connection"}) {
    const auto found = parse_nodes(line);
    REQUIRE_FALSE(found);
    CHECK_THAT(found.error().message,
               Catch::Matchers::EndsWith("not as expected"));
  }
}

TEST_CASE("without a partition the default one counts") {
  CHECK(groups("").size() == 2);
  CHECK(groups("gpu").size() == 3);
  CHECK(groups("gpu,main").size() == 5);
  Request request;
  request.partition = "fast";
  const auto none = nodes_for(request, *parse_nodes(kOutput));
  REQUIRE_FALSE(none);
  CHECK(none.error().message ==
        "--partition=fast: there is no such partition; there are gpu, main");
  request.partition = "";
  CHECK_FALSE(nodes_for(request, *parse_nodes("gpu|1|1|1|idle|x\n")));
}

TEST_CASE("nodes fit by CPUs, memory and GPUs") {
  Request request;
  CHECK(most_cpus_per_task(request, groups("")) == 64);
  request.tasks_per_node = 3;
  CHECK(most_cpus_per_task(request, groups("")) == 21);
  const FittingNodes some = fitting_nodes(request, 6, groups(""));
  CHECK(some.up == 0);
  CHECK(some.down == 1);
  CHECK(some.all == 4);
  CHECK(some.partitions == "main");
  CHECK(fitting_nodes(request, 5, groups("")).up == 3);
  request.memory_bytes = 1e15;
  CHECK_FALSE(most_cpus_per_task(request, groups("")));
  request = Request{};
  request.gpus_per_node = 1;
  CHECK_FALSE(most_cpus_per_task(request, groups("")));
  CHECK(most_cpus_per_task(request, groups("gpu")) == 128);
  request.gpu_type = "a100";
  CHECK(most_cpus_per_task(request, groups("gpu")) == 64);
  CHECK(fitting_nodes(request, 64, groups("gpu")).up == 3);
  CHECK(gpu_type_of(request, groups("gpu")) == "a100");
  request.gpu_type = "";
  CHECK(gpu_type_of(request, groups("gpu")).empty());  // two types
}

TEST_CASE("memory of each CPU limits the CPUs") {
  Request request;
  request.memory_bytes_per_cpu = 16.0 * 1024 * 1024 * 1024;
  // 256,000 MB on the largest, which is down, and 64,000 on the others.
  CHECK(most_cpus_per_task(request, groups("")) == 15);
  CHECK(fitting_nodes(request, 3, groups("")).up == 3);
  CHECK(fitting_nodes(request, 4, groups("")).up == 0);
  CHECK(fitting_nodes(request, 4, groups("")).down == 1);
}

TEST_CASE("tasks without a number of nodes are spread over the fewest") {
  Request request;
  request.is_spread = true;
  request.tasks_per_node = 16;
  request.gpus_per_node = request.gpus = 16;
  request.gpu_type = "a100";
  request.cpus_per_task = 8;
  const Request out = spread_over_nodes(request, groups("gpu"));
  CHECK(out.nodes == 4);
  CHECK(out.tasks_per_node == 4);
  CHECK(out.gpus_per_node == 4);
  request.cpus_per_task = 1000;  // nowhere
  CHECK(spread_over_nodes(request, groups("gpu")).nodes == 1);
  request.is_spread = false;
  CHECK(spread_over_nodes(request, groups("gpu")).tasks_per_node == 16);
}

TEST_CASE("a job's share of CPUs is that of its GPUs") {
  Request request;
  CHECK_FALSE(cpus_of_gpu_share(request, groups("gpu")));
  request.gpus_per_node = 2;
  request.gpu_type = "a100";
  CHECK(cpus_of_gpu_share(request, groups("gpu")) == 32);
  request.tasks_per_node = 2;
  CHECK(cpus_of_gpu_share(request, groups("gpu")) == 16);
}

}  // namespace penstock::advise
