#include "tools/advise/request.h"

#include <map>

#include "tests/unit/catch.h"

namespace penstock::advise {
namespace {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

constexpr double kGibibyte = 1024.0 * 1024 * 1024;

Result<Request> request(const Words& words, const std::string& script = "",
                        const Variables& variables = {}) {
  Result<SbatchLine> line = parse_sbatch_line(words);
  REQUIRE(line);
  line->rest = {"jobs/train.sbatch", "--epochs", "3"};
  return make_request(
      *line, Script{"jobs/train.sbatch", "/home/ada/jobs/train.sbatch", script},
      [&](const char* name) -> const char* {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      });
}

// "nodes x tasks x CPUs, GPUs type"
std::string layout(const Words& words) {
  const auto it = request(words);
  if (!it) return it.error().message;
  return std::to_string(it->nodes) + "x" + std::to_string(it->tasks_per_node) +
         "x" + std::to_string(it->cpus_per_task) + ", " +
         std::to_string(it->gpus_per_node) + it->gpu_type;
}

}  // namespace

TEST_CASE("a job without options has one task with one CPU") {
  const auto it = request({});
  REQUIRE(it);
  CHECK(it->tasks() == 1);
  CHECK(it->cpus_per_task == 1);
  CHECK(it->partition.empty());
  CHECK(it->job_name == "train.sbatch");
  CHECK(it->command == "/home/ada/jobs/train.sbatch --epochs 3");
  CHECK(it->ignored.empty());
}

TEST_CASE("nodes, tasks, CPUs and GPUs are those of a node and a task") {
  CHECK(layout({"-N2", "--ntasks-per-node=4", "-c6",
                "--gpus-per-node=a100:4"}) == "2x4x6, 4a100");
  CHECK(layout({"-N2-3", "--tasks-per-node=4"}) == "2x4x1, 0");
  CHECK(layout({"-N2", "-n8", "--gpus=8"}) == "2x4x1, 4");
  CHECK(layout({"-n8", "--ntasks-per-node=4"}) == "2x4x1, 0");
  CHECK(layout({"-n3"}) == "1x3x1, 0");
  CHECK(layout({"-n4", "--gpus-per-task=h100:1"}) == "1x4x1, 4h100");
  CHECK(layout({"--gres=nic:1,gpu:v100:2", "-n2", "--cpus-per-gpu=5"}) ==
        "1x2x5, 2v100");
  CHECK(layout({"--gres=gpu"}) == "1x1x1, 1");
  CHECK(layout({"--gpus-per-node=4", "--ntasks-per-gpu=2"}) == "1x8x1, 4");
  CHECK(layout({"--gpus=4", "--cpus-per-gpu=8", "-c3"}) == "1x1x3, 4");
}

TEST_CASE("memory is that of a node") {
  const auto memory = [](const Words& words) {
    return request(words)->memory_bytes / kGibibyte;
  };
  CHECK(memory({}) == 0);
  CHECK(memory({"--mem=0"}) == 0);
  CHECK(memory({"--mem=2048"}) == 2);
  CHECK(memory({"--mem=16G"}) == 16);
  const auto per_cpu = request({"--mem-per-cpu=1G", "-c4", "-n2"});
  CHECK(per_cpu->memory_with(4) == 8 * kGibibyte);
  CHECK(per_cpu->memory_with(1) == 2 * kGibibyte);
  CHECK(per_cpu->memory_option == "--mem-per-cpu");
  CHECK(memory({"--mem-per-gpu=10G", "--gpus=2"}) == 20);
}

TEST_CASE("Slurm chooses the nodes of tasks that name none") {
  CHECK(request({"-n8", "--gpus-per-task=2"})->is_spread);
  CHECK(request({"-n8", "--gpus-per-task=2"})->gpus == 16);
  CHECK(request({"-n8", "--gpus=4"})->gpus == 4);
  CHECK(request({"-n8", "--gpus-per-node=4"})->gpus == 0);
  CHECK_FALSE(request({"-n8", "-N2"})->is_spread);
  CHECK_FALSE(request({"-n8", "--ntasks-per-node=4"})->is_spread);
}

TEST_CASE("a task with several GPUs has a trainer for each") {
  CHECK(request({"--gpus=4"})->ranks_per_task() == 4);
  CHECK(request({"-n4", "--gpus=4"})->ranks_per_task() == 1);
  CHECK(request({})->ranks_per_task() == 1);
}

TEST_CASE("the command line wins over variables, and these over the script") {
  const std::string script = "#SBATCH -p slow -c 2 -J one\n";
  CHECK(request({}, script)->partition == "slow");
  CHECK(request({}, script, {{"SBATCH_PARTITION", "day"}})->partition == "day");
  const auto all =
      request({"-p", "fast"}, script,
              {{"SBATCH_PARTITION", "day"}, {"SBATCH_JOB_NAME", "two"}});
  CHECK(all->partition == "fast");
  CHECK(all->job_name == "two");
  CHECK(all->cpus_per_task == 2);
}

TEST_CASE("a script's loader options win over their variables") {
  const Variables variables = {{"PENSTOCK_LOADER_MODEL", "alexnet"},
                               {"PENSTOCK_LOADER_BATCH", "64"},
                               {"PENSTOCK_LOADER_BW", "3M"}};
  const auto it = request({}, "#SBATCH --loader-model=res50\n", variables);
  CHECK(it->model == "res50");
  CHECK(it->batch == 64);
  CHECK(it->bandwidth_bytes_per_s == 3 << 20);
}

TEST_CASE("a wrapped command is named as Slurm names it") {
  const auto line = parse_sbatch_line({"--wrap=python train.py"});
  REQUIRE(line);
  const auto it =
      make_request(*line, std::nullopt, [](const char*) { return nullptr; });
  REQUIRE(it);
  CHECK(it->job_name == "wrap");
  CHECK(it->command.empty());
}

TEST_CASE("a value that sbatch would refuse is refused with its place") {
  const auto fault = [](const Words& words, const std::string& script = "") {
    const auto it = request(words, script);
    REQUIRE_FALSE(it);
    CHECK(it.error().code == Code::kInvalidArgument);
    return it.error().message;
  };
  CHECK(fault({"-c", "0"}) ==
        "sbatch's arguments: --cpus-per-task=0: allowed: 1 to 1000000");
  CHECK(fault({}, "#!/bin/sh\n#SBATCH -n two\n") ==
        "jobs/train.sbatch:2: --ntasks=two: allowed: 1 to 1000000");
  CHECK_THAT(fault({"-N", "2-x"}),
             Catch::Matchers::EndsWith("--nodes=2-x: allowed: N, or N-M"));
  CHECK_THAT(fault({"--gpus=a100:many"}),
             Catch::Matchers::EndsWith("allowed: N, or TYPE:N"));
  CHECK_THAT(fault({"--mem=lots"}),
             Catch::Matchers::EndsWith(
                 "--mem=lots: allowed: a size such as 4096, 16G"));
  CHECK_THAT(fault({"--loader-batch=-1"}),
             Catch::Matchers::StartsWith(
                 "sbatch's arguments: --loader-batch=-1: not valid"));
  CHECK(fault({"-N1000", "--ntasks-per-node=1001"}) ==
        "1000 nodes with 1001 tasks each: allowed: at most 1000000 tasks");
  CHECK_THAT(fault({"-c", "99999999999999999999"}),
             Catch::Matchers::EndsWith("allowed: 1 to 1000000"));
}

TEST_CASE("options that the advice leaves out are named") {
  const auto it = request({"--exclusive", "-C", "ssd", "--new=1", "--new=2"},
                          "#SBATCH --newer\n");
  REQUIRE(it);
  CHECK(it->ignored ==
        Words{"--constraint", "--exclusive", "--new", "--newer"});
}

TEST_CASE("a list of GRES tells its GPUs") {
  const auto gpus = [](const char* list) {
    std::string out;
    for (const GresGpus& it : gpus_of_gres(list)) {
      out += it.type + ":" + std::to_string(it.count) + " ";
    }
    return out;
  };
  CHECK(gpus("gpu:a100:4(S:0-1),nic:1") == "a100:4 ");
  CHECK(gpus("gpu:4(IDX:0,2),gpu:t4:1") == ":4 t4:1 ");
  CHECK(gpus("gres/gpu:a100:2") == "a100:2 ");
  CHECK(gpus("gres:gpu:2") == ":2 ");
  CHECK(gpus("gpu") == ":1 ");
  CHECK(gpus("gpu:tesla") == "tesla:1 ");
  CHECK(gpus("(null)") == "");
  CHECK(gpus("") == "");
  CHECK(gpus("shard:4,gpux:3,gpu:0,gpu:") == "");
  CHECK(gpus(")))(,gpu:1") == ":1 ");
}

}  // namespace penstock::advise
