#include "node_agent/plan/launch_watch.h"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

// A starved job with two workers on the two CPUs of a batch script.
LaunchWindow starved() {
  LaunchWindow it;
  it.node = "n1";
  it.launch = Launch::kBatch;
  it.node_cpus = 8;
  it.job_cpus = it.step_cpus = it.task_cpus = it.task_cores = 2;
  it.node_memory_bytes = uint64_t{16} << 30;
  it.cpus = CpuSet({0, 1});
  it.tasks = it.ranks = 1;
  it.trains = true;
  it.waits = 0.5;
  it.trainer_cores = 0.3;
  it.loader_cores = 1.65;
  it.loader_delay_cores = 0.3;
  it.workers = it.busy_workers = it.busy_threads = 2;
  return it;
}

struct Mistake {
  LaunchFault fault;
  std::vector<std::string> lines;
  std::function<void(LaunchWindow& it)> make;
};

// Two workers that read files of 4 KiB in 5 ms each, from a network file
// system.
void read_small(LaunchWindow& it) {
  it.loader_cores = 0.1;
  it.loader_delay_cores = 0;
  it.busy_workers = it.busy_threads = 0;
  it.fetching = 1.8;
  it.preparing = 0.1;
  it.knows_reads = true;
  it.network_reads = NetworkReads{400, 4096, "nfs4", "/net", "/net/set/train"};
}

void take_one_cpu(LaunchWindow& it) {
  it.task_cpus = it.task_cores = it.step_cpus = 1;
  it.trainer_cores = 0.1;
  it.loader_cores = 0.88;
  it.loader_delay_cores = 1.1;
}

const std::vector<Mistake>& mistakes() {
  static const std::vector<Mistake> all = {
      {LaunchFault::kStepCpus,
       {"srun --cpus-per-task=4"},
       [](LaunchWindow& it) {
         take_one_cpu(it);
         it.launch = Launch::kStepOfBatch;
         it.job_cpus = 4;
       }},
      {LaunchFault::kTasksPinned,
       {"srun --cpu-bind=cores"},
       [](LaunchWindow& it) {
         take_one_cpu(it);
         it.launch = Launch::kStep;
         it.step_cpus = it.tasks = it.ranks = 2;
       }},
      {LaunchFault::kRanksShare,
       {"#SBATCH --cpus-per-task=4"},
       [](LaunchWindow& it) {
         take_one_cpu(it);
         it.job_cpus = 1;
         it.ranks = 2;
       }},
      {LaunchFault::kLoaderPinned,
       {"def worker_init_fn(worker): os.sched_setaffinity(0, "
        "range(os.cpu_count()))",
        "DataLoader(..., worker_init_fn=worker_init_fn)"},
       [](LaunchWindow& it) {
         it.pinned_to = CpuSet({1});
         it.pinned_from = 2;
         it.loader_cores = it.loader_delay_cores = 1;
       }},
      {LaunchFault::kManyThreads,
       {"export OMP_NUM_THREADS=1", "cv2.setNumThreads(0)"},
       [](LaunchWindow& it) {
         it.busy_threads = 8;
         it.loader_delay_cores = 5;
       }},
      {LaunchFault::kManyWorkers,
       {"num_workers=2"},
       [](LaunchWindow& it) {
         it.workers = it.busy_workers = it.busy_threads = 8;
         it.loader_delay_cores = 6;
       }},
      {LaunchFault::kSmallReads,
       {"cp -r /net/set/train \"${TMPDIR:-/tmp}\""},
       read_small},
      {LaunchFault::kFewWorkers,
       {},  // the report's advice
       [](LaunchWindow& it) {
         it.workers = it.busy_workers = it.busy_threads = 1;
         it.loader_cores = 0.95;
         it.loader_delay_cores = 0;
       }},
      {LaunchFault::kOneThread,
       {"torch.set_num_threads(2)"},
       [](LaunchWindow& it) {
         it.waits = 0.05;
         it.loader_cores = it.loader_delay_cores = 0.1;
         it.trainer_cores = 0.95;
         it.compute_threads = 1;
       }},
      {LaunchFault::kFarGpus,
       {"#SBATCH --gres-flags=enforce-binding"},
       [](LaunchWindow& it) {
         it.near_gpus = CpuSet({4, 5});
       }},
      {LaunchFault::kUnusedGpus,
       {"#SBATCH --gpus-per-node=1"},
       [](LaunchWindow& it) {
         it.gpus = 4;
         it.gpus_without_process = 3;
       }},
      {LaunchFault::kMemoryKills,
       {"#SBATCH --mem=6144M"},
       [](LaunchWindow& it) {
         it.memory_kills = 1;
         it.memory_bytes = uint64_t{4} << 30;
       }},
      {LaunchFault::kOutsiders,
       {"#SBATCH --exclude=n1"},
       [](LaunchWindow& it) {
         it.loader_cores = 0.7;
         it.outside_cores = 0.9;
       }},
  };
  return all;
}

}  // namespace

TEST_CASE("each mistake is named alone, with the line that mends it") {
  REQUIRE(mistakes().size() == size_t{kLaunchFaultCount});
  for (const Mistake& mistake : mistakes()) {
    LaunchWindow window = starved();
    mistake.make(window);
    const std::vector<LaunchProblem> found = launch_problems(window);
    INFO(launch_fault_name(mistake.fault));
    REQUIRE(found.size() == 1);
    CHECK(found[0].fault == mistake.fault);
    CHECK(found[0].lines == mistake.lines);
    CHECK(found[0].reason.size() < kMaxReportTextBytes);
    CHECK(found[0].reason.back() != '.');
  }
}

TEST_CASE("tasks that have one hardware thread of each core are named") {
  LaunchWindow window = starved();
  window.leaves_siblings = true;
  window.step_cpus = 4;
  window.loader_delay_cores = 1.65;
  const auto found = launch_problems(window);
  REQUIRE(found.size() == 1);
  CHECK(found[0].fault == LaunchFault::kTasksPinned);
  CHECK(found[0].lines ==
        std::vector<std::string>{"#SBATCH --hint=multithread"});
  LaunchWindow fed = window;  // as its user wants it
  fed.waits = 0;
  CHECK(launch_problems(fed).empty());
  window.loader_cores = 0.5;  // it does not use what it has
  CHECK(launch_problems(window).empty());
}

TEST_CASE("a job that is well started has no problem") {
  CHECK(launch_problems(starved()).empty());
  LaunchWindow fed = starved();
  fed.waits = 0.01;
  CHECK(launch_problems(fed).empty());
  LaunchWindow sleeping = starved();  // workers that wait for storage
  sleeping.workers = 8;
  sleeping.busy_workers = sleeping.busy_threads = 4;
  sleeping.loader_cores = 0.4;
  sleeping.loader_delay_cores = 0.02;
  CHECK(launch_problems(sleeping).size() == 1);  // few_workers: advice decides
  CHECK(launch_problems(LaunchWindow()).empty());
}

// Each condition alone keeps a fault from being told.
TEST_CASE("where the remedy is not sure, nothing is said") {
  const auto quiet = [](LaunchFault fault, auto&& change) {
    LaunchWindow window = starved();
    for (const Mistake& mistake : mistakes()) {
      if (mistake.fault == fault) mistake.make(window);
    }
    change(window);
    for (const LaunchProblem& problem : launch_problems(window)) {
      if (problem.fault == fault) return false;
    }
    return true;
  };
  using F = LaunchFault;
  // The other CPUs are used by other steps; the step does not use its own.
  CHECK(quiet(F::kStepCpus, [](auto& it) { it.task_cpus = 3; }));
  CHECK(quiet(F::kStepCpus, [](auto& it) {  // -c 2 of 8, as it asked for
    it.job_cpus = 8;
    it.task_cpus = it.step_cpus = it.task_cores = 2;
    it.loader_cores = 1.85;
  }));
  CHECK(quiet(F::kStepCpus, [](auto& it) {  // the batch script works, too
    it.trainer_cores = 1;
  }));
  CHECK(quiet(F::kStepCpus, [](auto& it) { it.trainer_cores.reset(); }));
  CHECK(quiet(F::kStepCpus, [](auto& it) { it.loader_cores = 0.5; }));
  CHECK(quiet(F::kStepCpus, [](auto& it) {
    it.trains = false;
    it.busy_workers = 0;
  }));
  // A pinned step of a batch script: more CPUs would not help.
  CHECK(quiet(F::kStepCpus, [](auto& it) {
    it.tasks = it.ranks = it.step_cpus = 2;
    it.task_cpus = 1;
  }));
  // Slurm gave the step no more CPUs than its tasks have.
  CHECK(quiet(F::kTasksPinned, [](auto& it) { it.step_cpus = 1; }));
  CHECK(quiet(F::kTasksPinned, [](auto& it) { it.step_cpus = 0; }));
  // The node has no further CPU.
  CHECK(quiet(F::kRanksShare, [](auto& it) { it.node_cpus = 1; }));
  CHECK(quiet(F::kRanksShare, [](auto& it) { it.trainer_cores = 0; }));
  CHECK(quiet(F::kLoaderPinned, [](auto& it) { it.loader_delay_cores = 0.1; }));
  CHECK(quiet(F::kLoaderPinned, [](auto& it) { it.waits = 0.01; }));
  CHECK(quiet(F::kManyThreads, [](auto& it) { it.waits = 0.01; }));
  CHECK(quiet(F::kManyThreads, [](auto& it) { it.waits.reset(); }));
  CHECK(quiet(F::kManyThreads, [](auto& it) { it.loader_delay_cores = 0.5; }));
  CHECK(quiet(F::kManyThreads, [](auto& it) { it.task_cpus = 8; }));
  // The trainer does not wait, or nobody knows.
  CHECK(quiet(F::kManyWorkers, [](auto& it) { it.waits = 0.05; }));
  CHECK(quiet(F::kManyWorkers, [](auto& it) { it.waits.reset(); }));
  CHECK(quiet(F::kManyWorkers, [](auto& it) { it.busy_workers = 2; }));
  CHECK(quiet(F::kFewWorkers, [](auto& it) { it.loader_cores = 1.5; }));
  CHECK(quiet(F::kFewWorkers, [](auto& it) { it.trainer_cores.reset(); }));
  CHECK(quiet(F::kOneThread, [](auto& it) { it.compute_threads = 2; }));
  CHECK(quiet(F::kOneThread, [](auto& it) { it.compute_threads = 0; }));
  CHECK(quiet(F::kOneThread, [](auto& it) { it.trainer_cores = 0.2; }));
  CHECK(quiet(F::kOneThread, [](auto& it) { it.ranks = 2; }));
  CHECK(quiet(F::kFarGpus, [](auto& it) { it.cpus = CpuSet({1, 4}); }));
  CHECK(quiet(F::kUnusedGpus, [](auto& it) { it.trains = false; }));
  CHECK(quiet(F::kOutsiders, [](auto& it) { it.outside_cores = 0.2; }));
  CHECK(quiet(F::kOutsiders, [](auto& it) { it.job_cpus = 4; }));
  CHECK(quiet(F::kOneThread, [](auto& it) { it.task_cores = 1; }));  // SMT
  const auto quiet_reads = [&](auto&& change) {
    return quiet(F::kSmallReads, [&](LaunchWindow& it) {
      change(it, *it.network_reads);
      if (!it.knows_reads) it.network_reads.reset();
    });
  };
  using N = NetworkReads;
  CHECK(quiet_reads([](auto& it, N&) { it.knows_reads = false; }));
  CHECK(quiet_reads([](auto& it, N&) { it.waits = 0.05; }));
  CHECK(quiet_reads([](auto& it, N&) { it.preparing = 2; }));
  CHECK(quiet_reads([](auto& it, N&) { it.trains = false; }));
  CHECK(quiet_reads([](auto&, N& reads) { reads.bytes_per_call = 1 << 20; }));
  // What they wait for is something else.
  CHECK(quiet_reads([](auto&, N& reads) { reads.calls_per_s = 20; }));
  // The kernel reads ahead: 50 MB/s.
  CHECK(quiet_reads([](auto&, N& reads) {
    reads.calls_per_s = 6000;
    reads.bytes_per_call = 16384;
  }));
}

TEST_CASE("small reads are mended by a copy of just what is read") {
  const auto lines = [](const std::string& source, Launch launch) {
    LaunchWindow window = starved();
    read_small(window);
    window.launch = launch;
    window.network_reads->source = source;
    const auto found = launch_problems(window);
    REQUIRE(found.size() == 1);
    REQUIRE(found[0].lines.size() == 1);
    return found[0].lines[0];
  };
  CHECK(lines("/net/a", Launch::kStepOfBatch) ==
        "srun --nodes=$SLURM_NNODES --ntasks=$SLURM_NNODES cp -r /net/a \"${TMPDIR:-/tmp}\"");
  // A whole mount may be a site's home; nothing that a shell would expand.
  for (const char* path : {"", "/net/a b", "/net/$(reboot)", "/net/a\"b"}) {
    CHECK(lines(path, Launch::kBatch) == "cp -r DATA \"${TMPDIR:-/tmp}\"");
  }
}

// Not more memory than the node has, and no limit that was not met.
TEST_CASE("killed processes get more memory, or fewer workers") {
  const auto lines = [](uint64_t limit_bytes, uint64_t node_bytes) {
    LaunchWindow window = starved();
    window.workers = 8;
    window.memory_kills = 2;
    window.memory_bytes = limit_bytes;
    window.node_memory_bytes = node_bytes;
    for (const LaunchProblem& problem : launch_problems(window)) {
      if (problem.fault == LaunchFault::kMemoryKills) return problem.lines;
    }
    return std::vector<std::string>();
  };
  using Lines = std::vector<std::string>;
  constexpr uint64_t kGiga = 1 << 30;
  CHECK(lines(2 * kGiga, 16 * kGiga) == Lines{"#SBATCH --mem=3072M"});
  CHECK(lines(12 * kGiga, 16 * kGiga) == Lines{"num_workers=4"});
  CHECK(lines(0, 16 * kGiga) == Lines{"num_workers=4"});
}

namespace {

LaunchWindow with_mistake(LaunchFault fault) {
  LaunchWindow window = starved();
  for (const Mistake& mistake : mistakes()) {
    if (mistake.fault == fault) mistake.make(window);
  }
  return window;
}

std::vector<LaunchFault> told(const LaunchWatch& watch) {
  std::vector<LaunchFault> faults;
  for (const LaunchProblem& it : watch.problems()) faults.push_back(it.fault);
  return faults;
}

using Faults = std::vector<LaunchFault>;

}  // namespace

TEST_CASE("a fault counts from the second window in a row on") {
  const LaunchWindow wrong = with_mistake(LaunchFault::kManyWorkers);
  const LaunchWindow right = starved();
  LaunchWatch watch;
  for (int i = 0; i < 5; ++i) {
    watch.add(wrong);
    CHECK(watch.problems().empty());
    watch.add(right);
    CHECK(watch.problems().empty());
  }
  watch.add(wrong);
  LaunchWindow newer = wrong;
  newer.loader_delay_cores = 9;
  watch.add(newer);
  CHECK(watch.problems() == launch_problems(newer));
  watch.add(newer);
  watch.add(right);
  watch.add(right);
  CHECK(told(watch) == Faults{LaunchFault::kManyWorkers});
  watch.add(right);
  CHECK(watch.problems().empty());
}

TEST_CASE("killed processes are told at once and for ever") {
  LaunchWatch watch;
  watch.add(with_mistake(LaunchFault::kMemoryKills));
  for (int i = 0; i < 2000; ++i) watch.add(starved());
  CHECK(told(watch) == Faults{LaunchFault::kMemoryKills});
}

TEST_CASE("a look for killed processes keeps other faults") {
  LaunchWatch watch;
  for (int i = 0; i < 2; ++i) {
    watch.add(with_mistake(LaunchFault::kManyWorkers));
  }
  const LaunchWindow killed = with_mistake(LaunchFault::kMemoryKills);
  for (int i = 0; i < 100; ++i) watch.add_kills(killed);
  for (int i = 0; i < 100; ++i) watch.add_kills(LaunchWindow());
  CHECK(told(watch) ==
        Faults{LaunchFault::kManyWorkers, LaunchFault::kMemoryKills});
}

TEST_CASE("small reads are judged only where somebody looked") {
  LaunchWatch watch;
  const LaunchWindow wrong = with_mistake(LaunchFault::kSmallReads);
  LaunchWindow unseen = wrong;
  unseen.knows_reads = false;
  unseen.network_reads.reset();
  watch.add(wrong);
  watch.add(unseen);
  CHECK(told(watch).empty());
  watch.add(wrong);
  CHECK(told(watch) == Faults{LaunchFault::kSmallReads});
  LaunchWindow fed = unseen;
  fed.waits = 0;
  for (int i = 0; i < 2; ++i) watch.add(fed);
  CHECK(told(watch).empty());
}

TEST_CASE("unused GPUs are told on when nobody looks at them any more") {
  LaunchWatch watch;
  for (int i = 0; i < 2; ++i) watch.add(with_mistake(LaunchFault::kUnusedGpus));
  for (int i = 0; i < 100; ++i) watch.add(starved());
  CHECK(told(watch) == Faults{LaunchFault::kUnusedGpus});
  LaunchWindow used = starved();
  used.gpus = 4;
  used.gpus_without_process = 0;
  for (int i = 0; i < 2; ++i) watch.add(used);
  CHECK(watch.problems().empty());
}

TEST_CASE("any figures give valid problems") {
  const char* given = std::getenv("PENSTOCK_TEST_SEED");
  const uint64_t seed =
      given != nullptr ? std::stoull(given) : std::random_device()();
  INFO("PENSTOCK_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  const auto any = [&](double most) {
    constexpr double kOdd[] = {0, 1, 1e-9, 1e9};
    const uint64_t draw = random() % 8;
    return draw < 4 ? kOdd[draw] : most * double(random() % 1000) / 1000;
  };
  for (int i = 0; i < 20000; ++i) {
    LaunchWindow it = starved();
    it.launch = Launch(random() % kLaunchCount);
    for (double* field :
         {&it.node_cpus, &it.job_cpus, &it.step_cpus, &it.task_cpus}) {
      *field = std::floor(any(16));
    }
    for (double* field : {&it.loader_cores, &it.loader_delay_cores,
                          &it.outside_cores, &it.fetching, &it.preparing}) {
      *field = any(16);
    }
    if (random() % 4 > 0) {
      it.network_reads = NetworkReads{any(1e5), any(1e6), "nfs", "/net", ""};
    }
    it.trainer_cores.reset();
    if (random() % 4 > 0) it.trainer_cores = any(16);
    it.task_cores = std::floor(it.task_cpus / double(1 + random() % 2));
    for (uint32_t* field : {&it.tasks, &it.ranks, &it.workers, &it.busy_workers,
                            &it.busy_threads, &it.gpus, &it.compute_threads}) {
      *field = uint32_t(any(16));
    }
    it.gpus_without_process = uint32_t(any(16));
    it.memory_kills = uint64_t(any(3));
    it.memory_bytes = random();
    for (const LaunchProblem& problem : launch_problems(it)) {
      CAPTURE(i, problem.reason);
      REQUIRE(problem.reason.find("inf") == std::string::npos);
      REQUIRE(problem.reason.find("nan") == std::string::npos);
      for (const std::string& line : problem.lines) {
        CAPTURE(line);
        REQUIRE(line.find("=0") == std::string::npos);
        REQUIRE(line.find("=-") == std::string::npos);
      }
    }
  }
}
