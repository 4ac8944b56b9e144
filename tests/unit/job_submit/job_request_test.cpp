#include "select_ext/job_submit/job_request.h"

#include <random>

#include "tests/unit/catch.h"
#include "tests/unit/job_submit/tables.h"

using namespace penstock::job_submit;  // NOLINT: the unit under test

namespace {

constexpr uint64_t kMib = 1 << 20;
const GresLimits kLimits{24, 2048 * kMib, 1};

JobRequest per_node(const char* list) {
  JobRequest request;
  request.tres_per_node = list;
  return request;
}

}  // namespace

TEST_CASE("job_request: GPUs of a node are counted for each form of request") {
  CHECK(gpus_per_node_of(per_node("gres:gpu:2")) == 2);

  JobRequest of_job;
  of_job.tres_per_job = "gres:gpu:8";
  CHECK(gpus_per_node_of(of_job) == 8);
  of_job.nodes = 3;
  CHECK(gpus_per_node_of(of_job) == 3);

  JobRequest of_tasks;
  of_tasks.tres_per_task = "gres:gpu:2";
  of_tasks.tasks = 6;
  of_tasks.nodes = 2;
  CHECK(gpus_per_node_of(of_tasks) == 6);
  of_tasks.tasks_per_node = 1;
  CHECK(gpus_per_node_of(of_tasks) == 2);

  JobRequest of_sockets;
  of_sockets.tres_per_socket = "gres:gpu:2";
  CHECK(gpus_per_node_of(of_sockets) == 2);
  of_sockets.sockets_per_node = 2;
  CHECK(gpus_per_node_of(of_sockets) == 4);
}

TEST_CASE("job_request: tasks of a batch job without GRES count as ranks") {
  JobRequest request;
  request.tasks = 4;
  request.nodes = 2;
  CHECK(ranks_per_node(request, true) == 0);  // salloc or srun
  request.is_batch = true;
  CHECK(ranks_per_node(request, true) == 2);
  CHECK(ranks_per_node(request, false) == 0);
  request.is_het = true;
  CHECK(ranks_per_node(request, true) == 0);
  request.is_het = false;
  request.tres_per_node = "gres:fpga:1";
  CHECK(ranks_per_node(request, true) == 0);
}

TEST_CASE("job_request: GPUs count in every kind of job") {
  JobRequest request = per_node("gres:gpu:3");
  CHECK(ranks_per_node(request, false) == 3);
  request.is_batch = request.is_het = true;
  CHECK(ranks_per_node(request, true) == 3);
}

TEST_CASE("job_request: steps of a job with its own GRES are not changed") {
  JobRequest request;
  CHECK_FALSE(steps_need_no_gres(request));
  request.is_batch = true;
  CHECK(steps_need_no_gres(request));
  request.tres_per_task = "cpu=2";  // sbatch -c 2, from 23.11 on
  CHECK(steps_need_no_gres(request));
  request.tres_per_job = "gres:gpu:1";
  CHECK_FALSE(steps_need_no_gres(request));
}

TEST_CASE("job_request: amounts are rounded up, divided and capped") {
  const auto check = [](uint64_t millicores, uint64_t bytes, uint32_t ranks,
                        const GresLimits& limits, uint64_t cpu, uint64_t bw) {
    const Amounts amounts = amounts_for(millicores, bytes, ranks, limits);
    CHECK(amounts.loader_cpu == cpu);
    CHECK(amounts.loader_bw == bw);
  };
  check(3000, 100 * kMib, 2, kLimits, 6, 200);
  check(3001, 100 * kMib + 1, 2, kLimits, 7, 201);
  check(1, 1, 1, kLimits, 1, 1);
  check(0, 0, 8, kLimits, 0, 0);
  check(6000, 1000 * kMib, 8, kLimits, 24, 2048);
  check(3000, 100 * kMib, 2, {24, 2048 * kMib, 1.5}, 4, 134);
  check(3000, 100 * kMib, 2, {24, 2048 * kMib, 0.5}, 12, 400);
  check(3000, 100 * kMib, 2, {0, 2048 * kMib, 1}, 0, 200);
  check(3000, 100 * kMib, 2, {24, 0, 1}, 6, 0);
  check(kMaxMillicores, kMaxBytesPerS, UINT32_MAX, kLimits, 24, 2048);
}

TEST_CASE("job_request: a bandwidth given by the user applies to the node") {
  const ModelDemand entry = model_entry("res50", 3000, 100 * kMib);
  penstock_wire_options options{};
  CHECK(amounts_for(&entry, options, 2, kLimits).loader_bw == 200);
  options.bw_bytes_per_s = 70 * kMib;
  CHECK(amounts_for(&entry, options, 2, kLimits).loader_bw == 70);
  CHECK(amounts_for(&entry, options, 2, kLimits).loader_cpu == 6);
  CHECK(amounts_for(nullptr, options, 2, kLimits).loader_bw == 70);
  CHECK(amounts_for(nullptr, options, 2, kLimits).loader_cpu == 0);
  CHECK(amounts_for(&entry, options, 0, kLimits).loader_bw == 0);
}

TEST_CASE("job_request: an unknown figure adds nothing") {
  ModelDemand entry = model_entry("res50", 3000, 100 * kMib);
  entry.bytes_per_s = {};
  const Amounts amounts =
      amounts_for(&entry, penstock_wire_options{}, 1, kLimits);
  CHECK(amounts.loader_cpu == 3);
  CHECK(amounts.loader_bw == 0);
}

TEST_CASE("job_request: the amounts of one job always fit on a node") {
  const char* seed_text = std::getenv("PENSTOCK_TEST_SEED");
  const unsigned seed = seed_text != nullptr
                            ? static_cast<unsigned>(std::atoi(seed_text))
                            : std::random_device{}();
  INFO("PENSTOCK_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  const auto up_to = [&](uint64_t most) {
    return std::uniform_int_distribution<uint64_t>(0, most)(random);
  };
  for (int i = 0; i < 10000; ++i) {
    const GresLimits limits{up_to(4096), up_to(uint64_t{1} << 40),
                            0.1 + static_cast<double>(up_to(1000)) / 10};
    const Amounts amounts =
        amounts_for(up_to(kMaxMillicores), up_to(kMaxBytesPerS),
                    static_cast<uint32_t>(up_to(1000000)), limits);
    REQUIRE(amounts.loader_cpu <= limits.node_cores);
    REQUIRE(amounts.loader_bw * kMib <= limits.node_bytes_per_s);
  }
}

TEST_CASE("job_request: a queued job's GRES give its demand again") {
  const auto demand =
      queued_demand(7, "gres:gpu:2,gres:loader_cpu:3,gres:loader_bw:100", 1);
  REQUIRE(demand);
  CHECK(demand->job_id == 7);
  CHECK(demand->millicores == 1500);
  CHECK(demand->bytes_per_s == 50 * kMib);
  CHECK_FALSE(queued_demand(7, "gres:gpu:2", 1));
  CHECK_FALSE(queued_demand(7, "gres:loader_cpu:3", 1));
  CHECK_FALSE(queued_demand(7, "", 1));

  const GresLimits limits{4096, uint64_t{1} << 40, 1};
  for (const double overcommit : {0.1, 0.7, 1.0, 1.5, 3.0})
    for (int gpus = 1; gpus <= 16; ++gpus)
      for (const int cores : {1, 2, 3, 7, 24, 100}) {
        const std::string list = "gres:gpu:" + std::to_string(gpus) +
                                 ",gres:loader_cpu:" + std::to_string(cores) +
                                 ",gres:loader_bw:" + std::to_string(7 * cores);
        const auto again = queued_demand(1, list, overcommit);
        REQUIRE(again);
        GresLimits overcommitted = limits;
        overcommitted.overcommit = overcommit;
        const Amounts amounts =
            amounts_for(again->millicores, again->bytes_per_s,
                        static_cast<uint32_t>(gpus), overcommitted);
        CHECK(amounts.loader_cpu == static_cast<uint64_t>(cores));
        CHECK(amounts.loader_bw == static_cast<uint64_t>(7 * cores));
      }
}
