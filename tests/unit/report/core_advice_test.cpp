#include "report/core_advice.h"

#include "tests/unit/catch.h"

namespace penstock {
namespace {

using Lines = std::vector<std::string>;

// An unmodified PyTorch job on a node of 16 CPUs. Its worker prepares 200
// samples/s a core, the ceiling is 1200, and its trainer takes 0.5 cores there.
// It has one CPU, and half of its time it waits for data.
struct Fixture {
  Fixture() {
    report.tasks = report.ranks = 1;
    report.breakdown = make_breakdown({.wall_s = 100,
                                       .parts = {.compute = {{16.0}},
                                                 .fetch_stall = {{0.0}},
                                                 .prep_stall = {{84.0}}},
                                       .waited_s = 84.0});
    CoreFigures& cores = report.cores;
    cores.node = 16;
    cores.allocated = 1;
    cores.reserve = 0.1;
    cores.demand = Estimate{6, 5.9, 6.1};
    cores.trainer_demand = Estimate{0.5, 0.48, 0.52};
    cores.loader_threads = 1;
    cores.loader_kind = LoaderKind::kProcesses;
    report.quality.counted = Counted::kHook;
    WhatIfCurve& curve = report.what_if.emplace();
    curve.ceiling = 1200;
    curve.here_rate = 190;
    for (double cores_at = 0; cores_at <= 8; cores_at += 0.25) {
      const double rate = std::min(1200.0, 200 * cores_at);
      const double most = std::min(1200.0, 220 * cores_at);
      curve.points.push_back({cores_at, {rate, 0.8 * rate, most}});
    }
  }

  // The rate that two ranks or more make together stays the same.
  void split_into(uint32_t tasks, uint32_t ranks) {
    report.tasks = tasks;
    report.ranks = ranks;
    report.cores.allocated = tasks;
    report.cores.loader_threads = ranks;
  }

  JobReport report;
};

Lines lines(const JobReport& report) {
  const auto advice = advise_cores(report);
  return advice ? advice->lines : Lines{};
}

}  // namespace

TEST_CASE("workers and CPUs that must change together are one advice") {
  const Fixture f;
  const auto advice = advise_cores(f.report);
  REQUIRE(advice);
  // 97% of 1200 samples/s: 5.82 cores, and 0.49 of the trainer.
  CHECK(advice->lines == Lines{"num_workers=6", "#SBATCH --cpus-per-task=7"});
  REQUIRE(advice->gain);
  CHECK(advice->gain->value == Approx(84.0 / 16));
  CHECK(advice->gain->low == Approx(0.95 * 0.8 * 1200 / 190 - 1).epsilon(0.02));
  CHECK(advice->gain->low < advice->gain->value);
  CHECK(advice->gain->high >= advice->gain->value);
  CHECK(advice->reason ==
        "1164 samples/s take about 5.82 loader cores and 0.48 of the trainer; "
        "at most 1 loader thread ran on 1 CPU");
}

TEST_CASE("no more CPUs are advised than the node has") {
  Fixture f;
  f.report.cores.node = 2;
  const auto advice = advise_cores(f.report);
  REQUIRE(advice);
  CHECK(advice->lines == Lines{"num_workers=2", "#SBATCH --cpus-per-task=2"});
  // 1.84 cores are left by the trainer.
  CHECK(advice->gain->value == Approx(368.0 / 190 - 1).epsilon(0.02));
  CHECK(advice->reason.find("a task can have no more CPUs there") !=
        std::string::npos);
  f.report.cores.node = 1;
  CHECK(lines(f.report).empty());
}

TEST_CASE("workers that suffice for the CPUs are left alone") {
  Fixture f;
  f.report.cores.loader_threads = 8;
  CHECK(lines(f.report) == Lines{"#SBATCH --cpus-per-task=7"});
}

TEST_CASE("CPUs that suffice for more workers are left alone") {
  Fixture f;
  f.report.cores.allocated = 7;
  CHECK(lines(f.report) == Lines{"num_workers=6"});
}

TEST_CASE("workers are of a rank, and CPUs of a task") {
  Fixture f;
  f.split_into(1, 3);  // as torchrun starts them
  CHECK(lines(f.report) == Lines{"num_workers=2", "#SBATCH --cpus-per-task=7"});
  f.split_into(3, 3);
  f.report.what_if->here_rate = 560;
  CHECK(lines(f.report) == Lines{"num_workers=2", "#SBATCH --cpus-per-task=3"});
}

TEST_CASE("a trainer that loads its data itself is advised workers") {
  Fixture f;
  f.report.cores.loader_kind = LoaderKind::kTrainer;
  f.report.cores.loader_threads = 0;
  CHECK(lines(f.report) == Lines{"num_workers=6", "#SBATCH --cpus-per-task=7"});
  SECTION("which help on its own CPU, too") {
    f.report.cores.node = 1;
    f.report.what_if->here_rate = 120;  // and computes in between
    CHECK(lines(f.report) == Lines{"num_workers=1"});
  }
}

TEST_CASE("the line names what starts the loader's threads") {
  Fixture f;
  f.report.cores.loader_kind = LoaderKind::kThreads;
  f.report.quality.counted = Counted::kProgram;
  CHECK(lines(f.report)[0] == "threads=6");
  f.report.cores.loader_grows = true;
  CHECK(lines(f.report) == Lines{"#SBATCH --cpus-per-task=7"});
  f.report.cores.requested = 2;
  CHECK(lines(f.report) ==
        Lines{"#SBATCH --loader-threads=6", "#SBATCH --cpus-per-task=7"});
}

TEST_CASE("a step's CPUs are srun's own") {
  Fixture f;
  CoreFigures& cores = f.report.cores;
  cores.loader_threads = 8;
  SECTION("outside a batch script") {
    cores.launch = Launch::kStep;
    CHECK(lines(f.report) == Lines{"srun --cpus-per-task=7"});
  }
  SECTION("in a batch script with too few") {
    cores.launch = Launch::kStepOfBatch;
    cores.job = 4;
    CHECK(lines(f.report) ==
          Lines{"#SBATCH --cpus-per-task=7", "srun --cpus-per-task=7"});
  }
  SECTION("in a batch script with enough, which it does not inherit") {
    cores.launch = Launch::kStepOfBatch;
    cores.job = 8;
    const auto advice = advise_cores(f.report);
    REQUIRE(advice);
    CHECK(advice->lines == Lines{"srun --cpus-per-task=7"});
    CHECK(advice->reason.ends_with(
        "; the batch script has 8 CPUs, but srun does not inherit its "
        "--cpus-per-task"));
  }
  SECTION("also where fewer would do") {
    f.report.breakdown = make_breakdown({.wall_s = 100, .waited_s = 1.0});
    cores.allocated = 16;
    cores.launch = Launch::kStep;
    CHECK(lines(f.report) == Lines{"srun --cpus-per-task=8"});
  }
}

TEST_CASE("workers that sleep for their data need no CPUs") {
  Fixture f;
  f.report.cores.allocated = 8;
  f.report.cores.loader_threads = 4;
  f.report.what_if->here_rate = 200;  // 1 core: a quarter of each
  const auto advice = advise_cores(f.report);
  REQUIRE(advice);
  CHECK(advice->lines == Lines{"num_workers=24"});
  CHECK(advice->gain->low == 0);
  CHECK(advice->reason.find("each uses 0.25 of a core") != std::string::npos);
  SECTION("unless they wait for storage that gives all it has") {
    f.report.bandwidth.pool = "scratch";
    f.report.bandwidth.pool_bytes_per_s = 100e6;
    f.report.bandwidth.used_bytes_per_s = 90e6;
    CHECK(lines(f.report).empty());
    f.report.bandwidth.used_bytes_per_s = 50e6;
    CHECK_FALSE(lines(f.report).empty());
    f.report.bandwidth.granted_bytes_per_s = 55e6;
    CHECK(lines(f.report).empty());
  }
  SECTION("unless they wait for storage of which nothing is known") {
    f.report.breakdown = make_breakdown({.wall_s = 100,
                                         .parts = {.compute = {{16.0}},
                                                   .fetch_stall = {{60.0}},
                                                   .prep_stall = {{24.0}}},
                                         .waited_s = 84.0});
    CHECK(lines(f.report).empty());
  }
}

TEST_CASE("workers on full CPUs are not taken for sleeping ones") {
  Fixture f;
  f.report.cores.loader_threads = 8;  // an eighth of the CPU for each
  CHECK(lines(f.report) == Lines{"#SBATCH --cpus-per-task=7"});
}

TEST_CASE("more CPUs do not shorten the wait for storage") {
  Fixture f;
  f.report.breakdown = make_breakdown({.wall_s = 100,
                                       .parts = {.compute = {{60.0}},
                                                 .fetch_stall = {{30.0}},
                                                 .prep_stall = {{10.0}}},
                                       .waited_s = 40.0});
  const auto advice = advise_cores(f.report);
  REQUIRE(advice);
  CHECK(advice->gain->value == Approx(100.0 / 90 - 1));
  CHECK(advice->gain->low <= advice->gain->value);
}

TEST_CASE("a job that does not wait is advised the CPUs that it needs") {
  Fixture f;
  f.report.breakdown = make_breakdown({.wall_s = 100, .waited_s = 1.0});
  f.report.cores.allocated = 16;
  const auto advice = advise_cores(f.report);
  REQUIRE(advice);
  // 6 and 0.5 cores are expected, and a CPU of room.
  CHECK(advice->lines == Lines{"#SBATCH --cpus-per-task=8"});
  CHECK_FALSE(advice->gain);
  CHECK(choose_cores(f.report)->cpus_per_task == 8);
  f.report.cores.allocated = 8;
  CHECK(lines(f.report).empty());
  // Four fifths of two CPUs are enough for 0.9 and 0.6.
  f.report.cores.demand = Estimate{0.9, 0.9, 0.95};
  f.report.cores.trainer_demand = Estimate{0.6, 0.6, 0.6};
  CHECK(lines(f.report) == Lines{"#SBATCH --cpus-per-task=2"});
  // Nobody knows whether fewer are enough.
  f.report.cores.demand = Estimate{2, 1, 6};
  CHECK(lines(f.report) == Lines{"#SBATCH --cpus-per-task=7"});
}

TEST_CASE("the choice for another run is that of the advice") {
  Fixture f;
  const auto choice = choose_cores(f.report);
  REQUIRE(choice);
  CHECK(choice->cpus_per_task == 7);
  CHECK(choice->threads_line == "num_workers=6");
  f.report.what_if->here_rate = 1170;  // nothing helps
  CHECK(choose_cores(f.report)->cpus_per_task == 1);
  CHECK(choose_cores(f.report)->threads_line.empty());
  f.report.what_if.reset();
  CHECK_FALSE(choose_cores(f.report));
}

TEST_CASE("another run's rate follows its CPUs and its loader's threads") {
  const Fixture f;
  const auto rate = [&f](int cpus, LoaderThreads threads) {
    return rate_with_cpus(f.report, cpus, threads).value();
  };
  const Estimate same = rate(1, LoaderThreads::kAsBefore);
  CHECK(same.value == 190);
  CHECK(same.low == Approx(0.95 * 190));
  CHECK(same.high == Approx(1.05 * 190));
  // One worker uses a core at most.
  CHECK(rate(7, LoaderThreads::kAsBefore).value < 220);
  const Estimate grown = rate(7, LoaderThreads::kEnough);
  const Estimate node = rate(16, LoaderThreads::kEnough);
  CHECK(grown.value >= 0.97 * node.value);
  CHECK(rate(6, LoaderThreads::kEnough).value < 0.97 * node.value);
  CHECK(grown.low < grown.value);
}

TEST_CASE("few workers on many CPUs are advised more of them, on fewer CPUs") {
  Fixture f;
  f.report.cores.allocated = 16;
  // 7 are enough, and one is left to it.
  CHECK(lines(f.report) == Lines{"num_workers=6", "#SBATCH --cpus-per-task=8"});
  CHECK(choose_cores(f.report)->cpus_per_task == 8);
  const auto rate = [&f](int cpus, LoaderThreads threads) {
    return rate_with_cpus(f.report, cpus, threads)->value;
  };
  CHECK(rate(16, LoaderThreads::kAsBefore) == 190);
  CHECK(rate(8, LoaderThreads::kEnough) >= 0.97 * 1200);
  // Its one worker needs no more than one of them.
  CHECK(rate(8, LoaderThreads::kAsBefore) == 190);
  CHECK(rate(1, LoaderThreads::kAsBefore) ==
        Approx(190 * 184.0 / 200).epsilon(0.01));
}

TEST_CASE("a wait too short for a report is none for another run") {
  Fixture f;
  f.report.breakdown = make_breakdown({.wall_s = 100,
                                       .parts = {.compute = {{96.0}},
                                                 .fetch_stall = {{0.0}},
                                                 .prep_stall = {{4.0}}},
                                       .waited_s = 4.0});
  f.report.cores.allocated = 6;
  f.report.cores.loader_threads = 6;
  f.report.what_if->here_rate = 1100;
  CHECK(choose_cores(f.report)->cpus_per_task == 7);
  CHECK(rate_with_cpus(f.report, 7, LoaderThreads::kEnough)->value ==
        Approx(1100 / 0.96).epsilon(0.01));
}

TEST_CASE("fewer CPUs make a job slower once its loader lacks them") {
  Fixture f;
  f.report.breakdown = make_breakdown({.wall_s = 100, .waited_s = 1.0});
  f.report.cores.allocated = 8;
  f.report.cores.loader_threads = 8;
  f.report.what_if->here_rate = 1100;  // less than the curve's 1200
  const auto rate = [&f](int cpus) {
    return rate_with_cpus(f.report, cpus, LoaderThreads::kAsBefore)->value;
  };
  CHECK(rate(8) == 1100);
  CHECK(rate(12) == 1100);
  CHECK(rate(7) == Approx(1100).epsilon(0.02));
  // 3.69 cores of the loader, of the 5.5 in use.
  CHECK(rate(4) == Approx(738).epsilon(0.01));
}

TEST_CASE("a run that was lent cores is chosen CPUs of its own") {
  Fixture f;
  f.report.breakdown = make_breakdown({.wall_s = 100, .waited_s = 1.0});
  f.report.cores.loader_threads = 6;
  f.report.cores.used_away = 5;
  f.report.what_if->here_rate = 1190;
  CHECK(choose_cores(f.report)->cpus_per_task == 7);
  CHECK(choose_cores(f.report)->threads_line.empty());
  // 0.92 cores of the loader without the lent ones.
  CHECK(rate_with_cpus(f.report, 1, LoaderThreads::kAsBefore)->value ==
        Approx(184).epsilon(0.01));
  CHECK(rate_with_cpus(f.report, 7, LoaderThreads::kEnough)->value >
        0.97 * 1200);
}

TEST_CASE("without a curve, a rate or CPUs there is no advice") {
  Fixture f;
  SECTION("no curve") { f.report.what_if.reset(); }
  SECTION("no points") { f.report.what_if->points.clear(); }
  SECTION("no rate") { f.report.what_if->here_rate.reset(); }
  SECTION("no CPUs") { f.report.cores.allocated.reset(); }
  SECTION("no tasks") { f.report.tasks = 0; }
  SECTION("no waits") { f.report.breakdown.waited_s.reset(); }
  SECTION("a gain too small to tell") { f.report.what_if->here_rate = 1170; }
  CHECK(lines(f.report).empty());
}

TEST_CASE("advice for extreme figures stays within the options' ranges") {
  Fixture f;
  f.report.cores.node.reset();
  for (RateAtCores& point : f.report.what_if->points) point.cores *= 1e15;
  const Lines told = lines(f.report);
  for (const std::string& line : told) {
    CHECK(std::stod(line.substr(line.rfind('=') + 1)) <= 4096);
  }
}

TEST_CASE("what is wrong with workers is mended by the advice's own lines") {
  Fixture f;
  const LaunchProblem few{LaunchFault::kFewWorkers, {}, "x"};
  const LaunchProblem many{LaunchFault::kManyWorkers, {"num_workers=1"}, "y"};
  const LaunchProblem other{LaunchFault::kOneThread, {"z"}, "z"};
  std::vector<LaunchProblem> problems = {many, few, other};
  follow_advice(f.report, problems);
  REQUIRE(problems.size() == 3);
  CHECK(problems[0].lines == lines(f.report));
  CHECK(problems[1].lines == lines(f.report));
  CHECK(problems[2].lines == Lines{"z"});
  // Nothing would help: what has no lines of its own is not told.
  f.report.what_if.reset();
  problems = {many, few, other};
  follow_advice(f.report, problems);
  CHECK(problems == std::vector{many, other});
}

}  // namespace penstock
