#include "tools/advise/advice.h"

#include "common/options.h"
#include "report/advice.h"
#include "report/text.h"
#include "tests/unit/catch.h"

namespace penstock::advise {
namespace {

using Lines = std::vector<std::string>;
constexpr double kGibibyte = 1024.0 * 1024 * 1024;

// An unmodified PyTorch job that had one CPU. Its worker prepares 200 samples/s
// a core, the ceiling is 1200, its trainer takes 0.5 cores there. It trained
// for 100 s of 110 s.
EarlierRun starved() {
  EarlierRun out;
  JobReport& report = out.report;
  report.job_id = 4711;
  report.tasks = report.ranks = 1;
  report.start_unix_s = 1000;
  report.end_unix_s = 1110;
  report.updated_unix_s = 1110;
  report.breakdown = make_breakdown({.wall_s = 100,
                                     .parts = {.compute = {{16.0}},
                                               .fetch_stall = {{0.0}},
                                               .prep_stall = {{84.0}}},
                                     .waited_s = 84.0});
  CoreFigures& cores = report.cores;
  cores.node = cores.job = cores.allocated = 1;
  cores.reserve = 0.1;
  cores.demand = Estimate{6, 5.9, 6.1};
  cores.trainer_demand = Estimate{0.5, 0.48, 0.52};
  cores.loader_threads = 1;
  cores.loader_kind = LoaderKind::kProcesses;
  report.throughput.measured = Estimate::exact(190);
  report.quality.samples = 19000;
  report.bandwidth.used_bytes_per_s = 19e6;
  WhatIfCurve& curve = report.what_if.emplace();
  curve.ceiling = 1200;
  curve.here_rate = 190;
  for (double at = 0; at <= 8; at += 0.25) {
    const double rate = std::min(1200.0, 200 * at);
    curve.points.push_back({at, {rate, 0.9 * rate, rate}});
  }
  out.is_complete = true;
  return out;
}

std::vector<NodeGroup> nodes(int cpus, int gpus = 0) {
  NodeGroup out;
  out.partition = "gpu";
  out.nodes = 4;
  out.cpus = cpus;
  out.memory_bytes = 64 * kGibibyte;
  if (gpus > 0) out.gpus = {{"a100", gpus}};
  out.is_up = true;
  return {out};
}

}  // namespace

TEST_CASE("workers and CPUs of a starved run's successor are one advice") {
  const auto advice = advise_by_run({}, starved(), nodes(16));
  REQUIRE(advice);
  CHECK(advice->lines == Lines{"num_workers=6", "#SBATCH --cpus-per-task=7"});
  CHECK(advice->advised_cpus_per_task == 7);
  REQUIRE(advice->choices.size() == 3);
  const Choice& asked = advice->choices[0];
  const Choice& advised = advice->choices[1];
  const Choice& most = advice->choices[2];
  CHECK(asked.rate.value == 190);
  CHECK(advised.rate.value == Approx(1200).epsilon(0.04));
  CHECK(most.cpus_per_task == 16);
  CHECK(advised.rate.value >= 0.97 * most.rate.value);
  // 10 s without training, and 19,000 samples.
  CHECK(*asked.hours * 3600 == Approx(110));
  CHECK(*advised.hours * 3600 == Approx(10 + 19000 / advised.rate.value));
  CHECK(*advised.core_hours == Approx(7 * *advised.hours));
  CHECK_FALSE(advised.gpu_hours);
  CHECK(*asked.bytes_per_s == Approx(19e6));
  CHECK_THAT(advice->basis,
             Catch::Matchers::StartsWith("the report of job 4711"));
}

TEST_CASE("no more CPUs are advised than the partition's nodes have") {
  const auto advice = advise_by_run({}, starved(), nodes(4));
  REQUIRE(advice);
  CHECK(advice->lines == Lines{"num_workers=4", "#SBATCH --cpus-per-task=4"});
  const auto none = advise_by_run({.gpus_per_node = 1}, starved(), nodes(4));
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().message,
             Catch::Matchers::StartsWith(
                 "no node of the default partition has 1 task with 1 "
                 "GPU"));
}

TEST_CASE("a request for what would be advised needs no change of CPUs") {
  const auto advice = advise_by_run({.cpus_per_task = 7}, starved(), nodes(16));
  REQUIRE(advice);
  CHECK(advice->lines == Lines{"num_workers=6"});
  // Its one worker can use no more than a core.
  CHECK(advice->choices[0].rate.value == Approx(200).epsilon(0.06));
}

TEST_CASE("too many CPUs are told") {
  const auto advice =
      advise_by_run({.cpus_per_task = 16}, starved(), nodes(16));
  REQUIRE(advice);
  CHECK(advice->lines == Lines{"num_workers=6", "#SBATCH --cpus-per-task=7"});
  CHECK(advice->choices.size() == 2);
}

TEST_CASE("srun in the script needs the line too") {
  EarlierRun run = starved();
  run.report.cores.launch = Launch::kStepOfBatch;
  const auto advice = advise_by_run({}, run, nodes(16));
  CHECK(advice->lines == Lines{"num_workers=6", "#SBATCH --cpus-per-task=7",
                               "srun --cpus-per-task=7"});
  // The batch script has 8, of which its srun takes one.
  run.report.cores.job = 8;
  const auto inherited = advise_by_run({.cpus_per_task = 8}, run, nodes(16));
  CHECK(inherited->lines == Lines{"num_workers=6", "srun --cpus-per-task=7"});
  CHECK(inherited->choices[0].cpus_per_task == 1);
}

TEST_CASE("a run of other tasks is scaled, without its duration") {
  const auto advice =
      advise_by_run({.nodes = 2, .tasks_per_node = 2}, starved(), nodes(16));
  REQUIRE(advice);
  CHECK(advice->choices[0].rate.value == 4 * 190);
  CHECK_FALSE(advice->choices[0].hours);
  CHECK(advice->lines == Lines{"num_workers=6", "#SBATCH --cpus-per-task=7"});
  CHECK_THAT(advice->notes.back(),
             Catch::Matchers::StartsWith("that run had 1 task, this one has "
                                         "4"));
}

TEST_CASE("the duration of a run that did not complete is not known") {
  EarlierRun run = starved();
  run.is_complete = false;
  CHECK_FALSE(advise_by_run({}, run, nodes(16))->choices[0].hours);
}

TEST_CASE("a run that had lent cores is advised to have its own") {
  EarlierRun run = starved();
  JobReport& report = run.report;
  report.breakdown = make_breakdown({.wall_s = 100,
                                     .parts = {.compute = {{99.0}},
                                               .fetch_stall = {{0.0}},
                                               .prep_stall = {{1.0}}},
                                     .waited_s = 1.0});
  report.cores.used_away = 5;
  report.cores.granted_away = 5;
  report.cores.loader_threads = 6;
  report.what_if->here_rate = 1190;
  const auto advice = advise_by_run({}, run, nodes(16));
  REQUIRE(advice);
  CHECK(advice->lines == Lines{"#SBATCH --cpus-per-task=7"});
  CHECK(advice->choices[0].rate.value < 200);
  CHECK_THAT(advice->notes[0], Catch::Matchers::StartsWith("that run made"));
}

TEST_CASE("memory is advised where it was measured") {
  EarlierRun run = starved();
  run.memory_bytes = 3 * kGibibyte;
  auto advice = advise_by_run({.memory_bytes = 32 * kGibibyte}, run, nodes(16));
  CHECK(advice->memory_bytes == 3 * kGibibyte);
  // Six workers take more than one: nobody knows how much.
  CHECK(advice->lines.size() == 2);
  CHECK(advice->notes[0] ==
        "a task used at most 3 GB of memory; each further worker takes more");
  run.report.cores.loader_kind = LoaderKind::kThreads;
  run.report.cores.loader_grows = true;
  advice = advise_by_run({.memory_bytes = 32 * kGibibyte}, run, nodes(16));
  CHECK(advice->lines.back() == "#SBATCH --mem=4G");
  advice = advise_by_run({.memory_bytes = 4 * kGibibyte}, run, nodes(16));
  CHECK(advice->lines == Lines{"#SBATCH --cpus-per-task=7"});
  advice = advise_by_run({.memory_bytes = 2 * kGibibyte}, run, nodes(16));
  CHECK(advice->lines.back() == "#SBATCH --mem=4G");
}

TEST_CASE("memory is not cut after a run that did not end") {
  EarlierRun run = starved();
  run.report.cores.loader_grows = true;
  run.memory_bytes = 3 * kGibibyte;
  run.is_complete = false;
  auto advice = advise_by_run({.memory_bytes = 64 * kGibibyte}, run, nodes(16));
  CHECK(advice->lines == Lines{"#SBATCH --cpus-per-task=7"});
  // Too little is too little at any time.
  advice = advise_by_run({.memory_bytes = 2 * kGibibyte}, run, nodes(16));
  CHECK(advice->lines.back() == "#SBATCH --mem=4G");
}

TEST_CASE("with memory for each CPU, fewer CPUs bring less of it") {
  EarlierRun run = starved();
  run.memory_bytes = 3 * kGibibyte;
  Request request;
  request.cpus_per_task = 16;
  request.memory_bytes_per_cpu = kGibibyte;
  request.memory_option = "--mem-per-cpu";
  const auto advice = advise_by_run(request, run, nodes(16));
  CHECK(advice->lines == Lines{"num_workers=6", "#SBATCH --cpus-per-task=7"});
  CHECK(advice->notes[1] ==
        "with --mem-per-cpu those CPUs bring 7 GB of memory on a node, less "
        "than before");
}

TEST_CASE("a limit of bandwidth under what the job would read is raised") {
  const auto advised_with = [](double bandwidth, const EarlierRun& run) {
    Request request;
    request.bandwidth_bytes_per_s = bandwidth;
    const auto advice = advise_by_run(request, run, nodes(16));
    REQUIRE(advice);
    return *advice;
  };
  // 100,000 bytes per sample, and 1200 samples/s, or a little more.
  for (double enough : {0.0, 1.1 * 1200 * 1e5}) {
    CHECK(advised_with(enough, starved()).lines.size() == 2);
  }
  const Advice advice = advised_with(1 << 20, starved());
  const double most = 1e5 * advice.choices[1].rate.high;
  REQUIRE(advice.lines.size() == 3);
  CHECK(advice.lines[2] == bandwidth_line(most));
  CHECK(advice.notes[0] == "a node would read up to " + rate_text(most) +
                               ", and the job's own limit is 1 MB/s");
}

TEST_CASE("a job that its own limit slows down is advised by its ceiling") {
  EarlierRun run = starved();
  run.report.breakdown = make_breakdown({.wall_s = 100,
                                         .parts = {.compute = {{16.0}},
                                                   .fetch_stall = {{84.0}},
                                                   .prep_stall = {{0.0}}},
                                         .waited_s = 84.0});
  run.report.bandwidth.demand_bytes_per_s = Estimate::exact(300 << 20);
  Request request;
  request.bandwidth_bytes_per_s = 19e6;
  const auto advice = advise_by_run(request, run, nodes(16));
  REQUIRE(advice);
  CHECK(advice->lines.back() == "#SBATCH " + option_flag(kOptionBw) + "=300M");
}

TEST_CASE("options that exclude each other are told") {
  Request request;
  request.cpus_option = "--cpus-per-gpu";
  const auto advice = advise_by_run(request, starved(), nodes(16));
  CHECK(advice->notes[0] ==
        "leave out --cpus-per-gpu, which does not go with --cpus-per-task");
}

TEST_CASE("a run whose tasks had other GPUs is no guide") {
  EarlierRun run = starved();
  run.gpus = 1;
  Request request;
  request.gpus_per_node = 4;
  const auto none = advise_by_run(request, run, nodes(16, 4));
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Code::kNotFound);
  CHECK(none.error().message ==
        "the tasks of job 4711 had 1 GPUs each, those of this one have 4");
  request.tasks_per_node = 4;
  CHECK(advise_by_run(request, run, nodes(32, 4)));
}

TEST_CASE("the batch script's CPUs are paid for, whatever its steps take") {
  EarlierRun run = starved();
  run.report.cores.launch = Launch::kStepOfBatch;
  run.report.cores.job = 8;
  const auto advice = advise_by_run({.cpus_per_task = 8}, run, nodes(16));
  const Choice& asked = advice->choices[0];
  CHECK(asked.cpus_per_task == 1);
  CHECK(*asked.core_hours == Approx(8 * *asked.hours));
}

TEST_CASE("more CPUs than the GPUs' share are advised with a warning") {
  Request request;
  request.gpus_per_node = 1;
  const auto advice = advise_by_run(request, starved(), nodes(16, 4));
  REQUIRE(advice);
  CHECK(advice->advised_cpus_per_task == 7);
  CHECK_THAT(advice->notes[0],
             Catch::Matchers::StartsWith(
                 "its GPUs' share of such a node is 4 CPUs per task"));
  CHECK(advice->choices[0].gpu_hours);
}

TEST_CASE("a report that tells too little gives no advice") {
  EarlierRun run = starved();
  run.report.what_if.reset();
  const auto none = advise_by_run({}, run, nodes(16));
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Code::kNotFound);
  CHECK_THAT(none.error().message,
             Catch::Matchers::EndsWith("see penstock report 4711"));
}

TEST_CASE("a profile is advised by its costs") {
  Profile profile;
  profile.name = "resnet";
  profile.accelerator_s_per_sample = 0.001;
  profile.loader_cpu_s_per_sample = 0.004;
  profile.trainer_cpu_s_per_sample = 0.0005;
  profile.bytes_per_sample = 1000;
  const auto advice = advise_by_profile({}, profile, nodes(16));
  REQUIRE(advice);
  // 970 samples/s: 3.88 cores of the loader and 0.49 of the trainer.
  CHECK(advice->lines == Lines{"num_workers=5", "#SBATCH --cpus-per-task=5"});
  CHECK(advice->choices[1].rate.value >= 970);
  CHECK(*advice->choices[1].bytes_per_s ==
        Approx(1000 * advice->choices[1].rate.value));
  CHECK_FALSE(advice->choices[1].hours);
  CHECK(advice->basis == "profile resnet, 25% uncertain");
  CHECK(advise_by_profile({.cpus_per_task = 5}, profile, nodes(16))
            ->lines.empty());
  // Slurm did not tell the nodes.
  const auto blind = advise_by_profile({}, profile, std::nullopt);
  CHECK(blind->advised_cpus_per_task == 5);
  CHECK(blind->choices.size() == 2);
  profile.loader_cpu_s_per_sample = 0;
  const auto none = advise_by_profile({}, profile, nodes(16));
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().message,
             Catch::Matchers::EndsWith(
                 "does not say what a sample costs its loader: measure it "
                 "with penstock analyze"));
}

TEST_CASE("each GPU of a task needs a profile's CPUs") {
  Profile profile;
  profile.name = "p";
  profile.accelerator_s_per_sample = 0.001;
  profile.loader_cpu_s_per_sample = 0.004;
  Request request;
  request.gpus_per_node = 4;
  const auto advice = advise_by_profile(request, profile, nodes(64, 4));
  // 3.88 cores each.
  CHECK(advice->lines == Lines{"num_workers=4", "#SBATCH --cpus-per-task=16"});
  CHECK(advice->choices[1].rate.value >= 4 * 970);
  CHECK_THAT(advice->notes[1],
             Catch::Matchers::StartsWith("a task with 4 GPUs is taken"));
}

TEST_CASE("a profile's error counts where CPUs are taken away") {
  Profile profile;
  profile.name = "p";
  profile.accelerator_s_per_sample = 0.001;
  profile.loader_cpu_s_per_sample = 0.008;
  const auto fewer =
      advise_by_profile({.cpus_per_task = 16}, profile, nodes(64));
  CHECK(fewer->advised_cpus_per_task == 10);  // 7.76 and a quarter
  const auto more = advise_by_profile({.cpus_per_task = 2}, profile, nodes(64));
  CHECK(more->advised_cpus_per_task == 8);
  const auto kept = advise_by_profile({.cpus_per_task = 9}, profile, nodes(64));
  CHECK(kept->advised_cpus_per_task == 9);
}

TEST_CASE("a described job is predicted") {
  Profile profile;
  profile.name = "mine";
  profile.job.model = "resnet50";
  profile.job.gpu = "a100";
  profile.job.batch_per_gpu = 256;
  profile.cpu_class = "jpeg";
  profile.bytes_per_sample = 110000;
  const auto advice = advise_by_profile({}, profile, nodes(64));
  REQUIRE(advice);
  CHECK(advice->advised_cpus_per_task > 1);
  CHECK_THAT(advice->basis,
             Catch::Matchers::StartsWith("a prediction for profile mine"));
  profile.job.gpu = "";
  CHECK_FALSE(advise_by_profile({}, profile, nodes(64)));
}

}  // namespace penstock::advise
