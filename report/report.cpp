#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {
namespace {

struct CauseText {
  const char* name;
  const char* text;
};

constexpr CauseText kCauses[kGrantCauseCount] = {
    {"task_start", "a task started"},
    {"task_end", "a task ended"},
    {"job_end", "a job ended"},
    {"recall", "a lender wanted its CPU"},
    {"lender_suffered", "a lender got its loan back"},
    {"measured_change", "measured rates changed"},
    {"idle_cpus", "idle CPUs came or went"},
    {"contradiction", "the page contradicts the kernel"},
    {"reload", "the configuration changed"},
    {"agent_start", "penstockd started"},
    {"controller", "the cluster's controller granted anew"},
    {"switched_off", "Penstock was switched off here"},
    {"switched_on", "Penstock was switched on here"},
    {"analysis", "the job's analysis began or ended"},
};

constexpr CauseText kSources[kLoaderSourceCount] = {
    {"unknown", "not known how loaders were told apart"},
    {"registered", "loader threads registered by the job"},
    {"names", "loaders told apart by their names or parentage"},
    {"match", "loaders told apart by --loader-match"},
    {"none", "no loader could be told apart, so the job never borrows"},
    {"guest", "a guest: all of its processes gave way to other jobs"},
};

constexpr CauseText kCounted[kCountedCount] = {
    {"unknown", "not known who counted batches"},
    {"program", "batches counted by the program itself"},
    {"hook",
     "batches counted by Penstock's hook: of the PyTorch DataLoaders after "
     "whose batches optimizers took steps"},
    {"no_step",
     "batches not counted: DataLoaders were iterated, but no optimizer took a "
     "step after their batches"},
    {"site_off",
     "batches not counted: this site does not measure unmodified programs "
     "(Watch=off in penstock.conf)"},
    {"user_off", "batches not counted: --loader-watch=off"},
    {"no_hook",
     "batches not counted: without a --loader option the job has no hook that "
     "measures unmodified programs; --loader=auto gives it"},
    {"unseen",
     "batches not counted: no PyTorch DataLoader was seen; other loaders, and "
     "Python before 3.10 or with -I or -E, need penstock.watch(loader)"},
};

constexpr CauseText kNotLent[kNotLentCount] = {
    {"no_cpus", "no CPU that may be lent to it was spare"},
    {"threads", "its loader threads or workers can use no more"},
    {"storage", "its storage bandwidth limits it first"},
    {"policy", "the node's policy lends nothing (Policy=even)"},
    {"switched_off", "Penstock was switched off on this node"},
    {"shared_cpus", "other jobs hold some of its own CPUs, too"},
    {"groups", "its control groups cannot be lent CPUs; see the notes"},
    {"contradiction", "its figures contradict the kernel's"},
    {"observed", "the site only observes it (Mode=observe)"},
};

constexpr const char* kLaunchFaults[kLaunchFaultCount] = {
    "tasks_pinned", "step_cpus",    "ranks_share",  "loader_pinned",
    "many_threads", "many_workers", "small_reads",  "few_workers",
    "one_thread",   "far_gpus",     "unused_gpus",  "memory_kills",
    "outsiders"};

constexpr const char* kLoaderKinds[kLoaderKindCount] = {"unknown", "trainer",
                                                        "processes", "threads"};

constexpr const char* kLaunches[kLaunchCount] = {"unknown", "batch", "srun",
                                                 "srun_in_batch"};

constexpr const char* kEvents[kProcessEventsCount] = {"unknown", "connector",
                                                      "polling"};

}  // namespace

std::optional<double> prediction_error(
    const std::optional<Estimate>& predicted,
    const std::optional<Estimate>& measured) {
  if (!predicted || !measured || !(measured->value > 0)) return std::nullopt;
  return predicted->value / measured->value - 1;
}

bool SlowestRank::stands_out() const {
  constexpr double kLeast = 0.05, kTimes = 1.5;
  return waited - mean >= kLeast && waited >= kTimes * mean;
}

std::string slowest_rank_text(const SlowestRank& rank) {
  std::string text = fmt::format(
      "process {} of task {} on {} waits for data for {:.0f}% of its time, the "
      "mean of all ranks is {:.0f}%",
      rank.process + 1, rank.task, rank.node, rank.waited * 100,
      rank.mean * 100);
  if (rank.for_storage) {
    text +=
        *rank.for_storage ? ": most of it for storage" : ": most of it for CPU";
  }
  return text;
}

bool JobReport::knows_rate() const {
  const auto is_known = [](const Compared& it) {
    return it.predicted || it.corrected || it.measured;
  };
  return is_known(ceiling) || is_known(throughput) || floor_rate;
}

bool JobReport::knows_cores() const {
  return cores.allocated || cores.granted_home || cores.used_home ||
         cores.used_away || cores.used_trainer || cores.demand;
}

bool JobReport::knows_bandwidth() const {
  return bandwidth != BandwidthFigures();
}

void JobReport::add_note(std::string note) {
  if (notes.size() < kMaxReportNotes) notes.push_back(std::move(note));
}

double JobReport::run_s() const {
  return std::max(0.0, end_unix_s.value_or(updated_unix_s) - start_unix_s);
}

const char* cause_name(GrantCause cause) {
  return kCauses[static_cast<int>(cause)].name;
}

const char* cause_text(GrantCause cause) {
  return kCauses[static_cast<int>(cause)].text;
}

const char* launch_name(Launch launch) {
  return kLaunches[static_cast<int>(launch)];
}

const char* not_lent_name(NotLent why) {
  return kNotLent[static_cast<int>(why)].name;
}

const char* not_lent_text(NotLent why) {
  return kNotLent[static_cast<int>(why)].text;
}

const char* launch_fault_name(LaunchFault fault) {
  return kLaunchFaults[static_cast<int>(fault)];
}

const char* loader_kind_name(LoaderKind kind) {
  return kLoaderKinds[static_cast<int>(kind)];
}

std::vector<LentBy> largest_lenders(const std::map<uint64_t, double>& cores) {
  constexpr double kLeast = 0.005;  // would be told as 0.00
  std::vector<LentBy> out;
  for (const auto& [id, used] : cores) {
    if (used >= kLeast) out.push_back({id, used});
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.cores > b.cores;
  });
  out.resize(std::min(out.size(), kMaxLentBy));
  return out;
}

std::string lent_by_text(const std::vector<LentBy>& lent_by, double used_away) {
  constexpr double kLeast = 0.005;
  std::string text;
  double others = used_away;
  for (const LentBy& it : lent_by) {
    text += text.empty() ? "" : ", ";
    text += it.job_id == 0 ? "idle CPUs" : "job " + std::to_string(it.job_id);
    text += fmt::format(" {:.2f}", it.cores);
    others -= it.cores;
  }
  if (others >= kLeast) text += fmt::format(", others {:.2f}", others);
  return text;
}

const char* loader_source_name(LoaderSource source) {
  return kSources[static_cast<int>(source)].name;
}

const char* loader_source_text(LoaderSource source) {
  return kSources[static_cast<int>(source)].text;
}

const char* counted_name(Counted counted) {
  return kCounted[static_cast<int>(counted)].name;
}

const char* counted_text(Counted counted) {
  return kCounted[static_cast<int>(counted)].text;
}

const char* process_events_name(ProcessEvents events) {
  return kEvents[static_cast<int>(events)];
}

}  // namespace penstock
