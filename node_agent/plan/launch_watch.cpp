#include "node_agent/plan/launch_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "report/core_advice.h"

namespace penstock {
namespace {

// Of CPUs: in use.
constexpr double kFull = 0.9;
constexpr double kOverfull = 1.1;
// Of the loader threads' time: most of it is spent waiting for a CPU.
constexpr double kCrowded = 0.4;
constexpr double kVeryCrowded = 0.5;
constexpr double kHardlyCrowded = 0.15;
// Of the trainers' time: they wait for data so long that it is worth a word.
constexpr double kStarved = 0.1;
// Of a core: an idle CPU.
constexpr double kIdleCpu = 0.7;
constexpr double kOneBusyThread = 0.8;
constexpr double kOutsideCores = 0.3;
// Of a read of a file: bytes; reads and bytes in a second of reading.
constexpr double kSmallRead = 64 << 10;
constexpr double kManyReads = 20;
constexpr double kFastReads = 10e6;
constexpr size_t kLongestPath = 180;
// Of the limit under which processes were killed.
constexpr double kMoreMemory = 1.5;
constexpr uint64_t kLongestBalance = 720;
constexpr int kInARow = 2;

using Lines = std::vector<std::string>;
using Found = std::optional<LaunchProblem>;

// 0: unknown, so that nothing is full and nothing is said.
double used_cores(const LaunchWindow& it) {
  return it.trainer_cores ? it.loader_cores + *it.trainer_cores : 0;
}

// Of the tasks' CPUs; 0: unknown.
double idle_cores(const LaunchWindow& it) {
  return it.trainer_cores ? std::max(0.0, it.task_cpus - used_cores(it)) : 0;
}

double delay_share(const LaunchWindow& it) {
  const double all = it.loader_cores + it.loader_delay_cores;
  return all > 0 ? it.loader_delay_cores / all : 0;
}

// The tasks use their CPUs, and nothing of the job uses others.
bool is_full(const LaunchWindow& it) {
  return it.task_cpus > 0 && used_cores(it) >= kFull * it.task_cpus &&
         used_cores(it) <= kOverfull * it.task_cpus;
}

bool works(const LaunchWindow& it) { return it.trains || it.busy_workers > 0; }

bool is_starved(const LaunchWindow& it) {
  return it.waits.value_or(0) >= kStarved;
}

std::string cpus_text(double cpus) {
  return fmt::format("{:.0f} CPU{}", cpus, cpus == 1 ? "" : "s");
}

double per_task(const LaunchWindow& it, double cpus) {
  return std::floor(cpus / std::max(1u, it.tasks));
}

Lines lines_for_cpus(const LaunchWindow& it, double cpus_per_task) {
  CoreFigures cores;
  cores.launch = it.launch;
  if (it.job_cpus > 0) cores.job = it.job_cpus;
  return cpus_lines(cores, it.tasks, int(cpus_per_task));
}

Found tasks_pinned(const LaunchWindow& it) {
  if (!is_full(it) || it.step_cpus <= it.task_cpus) return std::nullopt;
  if (it.leaves_siblings && is_starved(it) && delay_share(it) >= kCrowded) {
    const bool is_batch = it.launch == Launch::kBatch;
    return LaunchProblem{
        LaunchFault::kTasksPinned,
        {is_batch ? "#SBATCH --hint=multithread" : "srun --hint=multithread"},
        fmt::format("its tasks may use {} of the step's {}, one hardware "
                    "thread of each core, and use all of it, as "
                    "--hint=nomultithread has it",
                    it.task_cpus, cpus_text(it.step_cpus))};
  }
  if (it.tasks < 2 || it.task_cpus >= it.tasks) return std::nullopt;
  return LaunchProblem{
      LaunchFault::kTasksPinned,
      {"srun --cpu-bind=cores"},
      fmt::format("{} tasks may use only {} of the step's {}, and use all of "
                  "it, as --cpu-bind (or SLURM_CPU_BIND) has it",
                  it.tasks, it.task_cpus, cpus_text(it.step_cpus))};
}

// Of a step with one core for a task: more may be what its user wants.
Found step_cpus(const LaunchWindow& it) {
  if (it.launch != Launch::kStepOfBatch || !works(it) || !is_full(it) ||
      it.task_cores > it.tasks || it.job_cpus < 2 * it.task_cpus) {
    return std::nullopt;
  }
  const double cpus = per_task(it, it.job_cpus);
  if (cpus * it.tasks <= it.task_cpus) return std::nullopt;
  return LaunchProblem{
      LaunchFault::kStepCpus, lines_for_cpus(it, cpus),
      fmt::format("srun took {} of the {} that the job has here, and its step "
                  "uses all of it: since Slurm 22.05 srun does not inherit "
                  "--cpus-per-task from the batch script",
                  it.task_cpus, cpus_text(it.job_cpus))};
}

Found ranks_share(const LaunchWindow& it) {
  if (it.ranks < 2 || it.ranks <= it.task_cpus || !is_full(it)) {
    return std::nullopt;
  }
  const double wanted =
      std::ceil(double(it.ranks + it.workers) / std::max(1u, it.tasks));
  const double cpus =
      std::min(wanted, it.node_cpus > 0 ? per_task(it, it.node_cpus) : wanted);
  if (cpus * it.tasks <= it.task_cpus) return std::nullopt;
  return LaunchProblem{
      LaunchFault::kRanksShare, lines_for_cpus(it, cpus),
      fmt::format("{} ranks share {}, and use all of it: processes that "
                  "torchrun or mp.spawn starts have only their task's CPUs",
                  it.ranks, cpus_text(it.task_cpus))};
}

Found loader_pinned(const LaunchWindow& it) {
  if (!it.pinned_to || !is_starved(it) || delay_share(it) < kCrowded) {
    return std::nullopt;
  }
  return LaunchProblem{
      LaunchFault::kLoaderPinned,
      {"def worker_init_fn(worker): os.sched_setaffinity(0, "
       "range(os.cpu_count()))",
       "DataLoader(..., worker_init_fn=worker_init_fn)"},
      fmt::format(
          "the loader's threads may use only CPU {} of the task's {}, and wait "
          "for it {:.0f}% of the time: the program or a library bound them "
          "(sched_setaffinity, OMP_PROC_BIND, KMP_AFFINITY)",
          it.pinned_to->to_string(), cpus_text(it.pinned_from),
          100 * delay_share(it))};
}

Found many_threads(const LaunchWindow& it) {
  if (it.busy_workers == 0 || it.busy_threads < 1.8 * it.busy_workers ||
      it.busy_threads < 1.5 * it.task_cpus || !is_starved(it) ||
      delay_share(it) < kCrowded) {
    return std::nullopt;
  }
  return LaunchProblem{
      LaunchFault::kManyThreads,
      {"export OMP_NUM_THREADS=1", "cv2.setNumThreads(0)"},
      fmt::format("{} workers compute with {} threads at once on {}, and these "
                  "wait for a CPU {:.0f}% of the time: OMP_NUM_THREADS rules "
                  "OpenMP, MKL and OpenBLAS, the call OpenCV",
                  it.busy_workers, it.busy_threads, cpus_text(it.task_cpus),
                  100 * delay_share(it))};
}

Found many_workers(const LaunchWindow& it) {
  if (it.busy_workers < it.task_cpus + 2 ||
      it.busy_workers < 1.5 * it.task_cpus || delay_share(it) < kVeryCrowded ||
      !is_starved(it)) {
    return std::nullopt;
  }
  const double enough =
      std::max(1.0, std::floor(it.task_cpus / std::max(1u, it.ranks)));
  return LaunchProblem{
      LaunchFault::kManyWorkers,
      {fmt::format("num_workers={:.0f}", enough)},
      fmt::format("{} workers share {} and wait for one {:.0f}% of the time",
                  it.busy_workers, cpus_text(it.task_cpus),
                  100 * delay_share(it))};
}

// The path in a line to paste. One that a shell could read otherwise is left to
// the user.
std::string to_paste(const std::string& path) {
  const bool is_plain =
      !path.empty() && path.size() <= kLongestPath &&
      std::all_of(path.begin(), path.end(), [](unsigned char c) {
        return std::isalnum(c) ||
               std::string_view("/._-+,@%:=").find(char(c)) !=
                   std::string_view::npos;
      });
  return is_plain ? path : "DATA";
}

// Each read waits for an answer from elsewhere: a copy on the node does not.
Found small_reads(const LaunchWindow& it) {
  if (!waits_for_files(it) || !it.network_reads) return std::nullopt;
  const NetworkReads& reads = *it.network_reads;
  // Of a second in which a loader reads.
  const double calls = reads.calls_per_s / it.fetching;
  if (reads.bytes_per_call >= kSmallRead || calls < kManyReads ||
      calls * reads.bytes_per_call >= kFastReads) {
    return std::nullopt;
  }
  const std::string copy =
      "cp -r " + to_paste(reads.source) + " \"${TMPDIR:-/tmp}\"";
  const bool has_steps = it.launch == Launch::kStepOfBatch;
  return LaunchProblem{
      LaunchFault::kSmallReads,
      {has_steps ? "srun --nodes=$SLURM_NNODES --ntasks=$SLURM_NNODES " + copy : copy},
      fmt::format(
          "loaders read {} at a time, {:.0f} times a second, over the "
          "network ({} at {}): read a copy on the node, or fewer, larger "
          "files (shards, records)",
          format_bytes(reads.bytes_per_call), reads.calls_per_s,
          printable(reads.type, 20), printable(reads.mount, 60))};
}

// The lines are the report's advice, which knows how many there should be.
Found few_workers(const LaunchWindow& it) {
  if (!it.trains || !is_starved(it) || delay_share(it) >= kHardlyCrowded ||
      idle_cores(it) < kIdleCpu) {
    return std::nullopt;
  }
  return LaunchProblem{
      LaunchFault::kFewWorkers,
      {},
      fmt::format("trainers wait for data {:.0f}% of the time while {:.1f} of "
                  "the tasks' {} idle",
                  100 * *it.waits, idle_cores(it), cpus_text(it.task_cpus))};
}

// The call, as a variable cannot tell a library's choice from the program's.
Found one_thread(const LaunchWindow& it) {
  const double ranks = std::max(1u, it.ranks);
  const double waits = it.waits.value_or(1);
  if (it.compute_threads != 1 || !it.trains || waits >= 0.5 ||
      it.task_cores < 2 * ranks ||
      it.trainer_cores.value_or(0) < kOneBusyThread * (1 - waits) * ranks ||
      idle_cores(it) < kIdleCpu * ranks) {
    return std::nullopt;
  }
  return LaunchProblem{
      LaunchFault::kOneThread,
      {fmt::format("torch.set_num_threads({:.0f})",
                   std::floor(it.task_cores / ranks))},
      fmt::format("one thread computes the model on the CPU, as torchrun's "
                  "OMP_NUM_THREADS=1 has it, while {:.1f} of the tasks' {} "
                  "idle",
                  idle_cores(it), cpus_text(it.task_cpus))};
}

Found far_gpus(const LaunchWindow& it) {
  if (it.near_gpus.empty() || it.cpus.empty() ||
      !(it.near_gpus & it.cpus).empty()) {
    return std::nullopt;
  }
  return LaunchProblem{
      LaunchFault::kFarGpus,
      {"#SBATCH --gres-flags=enforce-binding"},
      fmt::format("none of the job's CPUs {} is near its GPUs, which are at "
                  "CPUs {}; the line works where gres.conf names their cores",
                  it.cpus.to_string(), it.near_gpus.to_string())};
}

Found unused_gpus(const LaunchWindow& it) {
  const uint32_t unused = it.gpus_without_process.value_or(0);
  if (unused == 0 || !it.trains) return std::nullopt;
  if (unused >= it.gpus) {
    return LaunchProblem{
        LaunchFault::kUnusedGpus,
        {"model.to(\"cuda\")"},
        fmt::format("the job trains, and none of its {} GPU{} has a process",
                    it.gpus, it.gpus == 1 ? "" : "s")};
  }
  return LaunchProblem{
      LaunchFault::kUnusedGpus,
      {fmt::format("#SBATCH --gpus-per-node={}", it.gpus - unused)},
      fmt::format("{} of the job's {} GPUs here {} no process while it trains",
                  unused, it.gpus, unused == 1 ? "has" : "have")};
}

Found memory_kills(const LaunchWindow& it) {
  if (it.memory_kills == 0) return std::nullopt;
  constexpr double kMega = 1 << 20;
  const double limit_mega = double(it.memory_bytes) / kMega;
  const double wanted_mega = std::ceil(kMoreMemory * limit_mega);
  LaunchProblem out{LaunchFault::kMemoryKills, {}, ""};
  out.reason = fmt::format(
      "the kernel killed {} of its processes for want of "
      "memory",
      it.memory_kills);
  if (it.memory_bytes > 0) {
    out.reason += fmt::format(", of which it had {:.0f}M here", limit_mega);
  }
  if (it.memory_bytes > 0 &&
      wanted_mega * kMega <= double(it.node_memory_bytes)) {
    out.lines = {fmt::format("#SBATCH --mem={:.0f}M", wanted_mega)};
    out.reason += "; fewer workers take less, too";
  } else {
    out.lines = {
        fmt::format("num_workers={}",
                    std::max(1u, it.workers / std::max(1u, it.ranks) / 2))};
  }
  return out;
}

Found outsiders(const LaunchWindow& it) {
  if (it.outside_cores < kOutsideCores ||
      used_cores(it) + it.outside_cores < kFull * it.job_cpus) {
    return std::nullopt;
  }
  return LaunchProblem{
      LaunchFault::kOutsiders,
      {"#SBATCH --exclude=" + it.node},
      fmt::format("programs that belong to no job of Slurm use {:.1f} of the "
                  "job's {} on {}: tell its administrator",
                  it.outside_cores, cpus_text(it.job_cpus), it.node)};
}

bool is_judged(const LaunchWindow& window, LaunchFault fault) {
  switch (fault) {
    case LaunchFault::kUnusedGpus:
      return window.gpus_without_process.has_value();
    case LaunchFault::kSmallReads:
      return window.knows_reads || !waits_for_files(window);
    default:
      return true;
  }
}

}  // namespace

bool waits_for_files(const LaunchWindow& window) {
  return window.trains && is_starved(window) && window.fetching > 0 &&
         window.fetching >= window.preparing;
}

std::vector<LaunchProblem> launch_problems(const LaunchWindow& window) {
  std::vector<LaunchProblem> out;
  for (auto explains : {tasks_pinned, step_cpus, ranks_share, loader_pinned,
                        many_threads, many_workers, small_reads, few_workers}) {
    if (Found found = explains(window)) {
      out.push_back(*std::move(found));
      break;
    }
  }
  for (auto is_wrong :
       {one_thread, far_gpus, unused_gpus, memory_kills, outsiders}) {
    if (Found found = is_wrong(window)) out.push_back(*std::move(found));
  }
  return out;
}

void LaunchWatch::show(const LaunchProblem& problem) {
  Record& record = records_[size_t(problem.fault)];
  record.newest = problem;
  record.balance = std::min(record.balance + 1, kLongestBalance);
  record.is_told = record.is_told || record.balance >= kInARow ||
                   problem.fault == LaunchFault::kMemoryKills;
}

void LaunchWatch::add(const LaunchWindow& window) {
  std::array<bool, kLaunchFaultCount> is_shown{};
  for (const LaunchProblem& problem : launch_problems(window)) {
    is_shown[size_t(problem.fault)] = true;
    show(problem);
  }
  for (size_t i = 0; i < records_.size(); ++i) {
    const auto fault = LaunchFault(i);
    if (is_shown[i] || fault == LaunchFault::kMemoryKills ||
        !is_judged(window, fault)) {
      continue;
    }
    Record& record = records_[i];
    const bool is_kept = record.is_told && record.balance > 0;
    record.balance = is_kept ? record.balance - 1 : 0;
    record.is_told = record.balance > 0;
  }
}

void LaunchWatch::add_kills(const LaunchWindow& window) {
  if (const Found killed = memory_kills(window)) show(*killed);
}

std::vector<LaunchProblem> LaunchWatch::problems() const {
  std::vector<LaunchProblem> out;
  for (const Record& record : records_) {
    if (record.is_told) out.push_back(record.newest);
  }
  return out;
}

}  // namespace penstock
