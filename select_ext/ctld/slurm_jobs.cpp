#include "select_ext/ctld/slurm_jobs.h"

#include <optional>
#include <string_view>
#include <utility>

#include "common/text_scan.h"

namespace penstock {
namespace {

using Kind = SlurmEvent::Kind;

bool holds_nodes(const SlurmJob& job) {
  return job.phase == SlurmPhase::kRunning ||
         job.phase == SlurmPhase::kSuspended;
}

// A job cancelled while waiting has ended without a node.
bool has_run(const SlurmJob& job) {
  return job.phase == SlurmPhase::kEnded && !job.nodes.empty();
}

// Another run with the same id: a requeue, or a reused id.
bool is_other_run(const SlurmJob& before, const SlurmJob& now) {
  return now.restart_count != before.restart_count ||
         (now.phase != SlurmPhase::kWaiting &&
          now.start_unix_s != before.start_unix_s);
}

class Differences {
 public:
  // A run that is new to us.
  void begin(const SlurmJob& now) {
    if (!holds_nodes(now) && !has_run(now)) return;
    add(Kind::kStarted, now);
    if (now.phase == SlurmPhase::kSuspended) add(Kind::kSuspended, now);
    if (has_run(now)) add(Kind::kEnded, now);
  }

  // A run that held nodes, and whose id now shows another run.
  void end(const SlurmJob& before, const SlurmJob& now) {
    const bool requeued = now.restart_count > before.restart_count ||
                          now.phase == SlurmPhase::kWaiting;
    requeued ? add(Kind::kRequeued, before) : lose(before);
  }

  // A run that held nodes and is no longer shown.
  void lose(SlurmJob before) {
    before.state = "LOST";
    before.phase = SlurmPhase::kEnded;
    add(Kind::kEnded, before);
  }

  // The same run in two polls.
  void go_on(const SlurmJob& before, const SlurmJob& now) {
    if (now.phase == SlurmPhase::kEnded) return complete(before, now);
    if (now.nodes != before.nodes || now.cpus != before.cpus) {
      add(Kind::kResized, now);
    }
    if (now.phase != before.phase) {
      add(now.phase == SlurmPhase::kSuspended ? Kind::kSuspended
                                              : Kind::kResumed,
          now);
    }
  }

  std::vector<SlurmEvent> take() { return std::move(events_); }

 private:
  // While nodes are cleaned up, Slurm shows only the remaining ones.
  void complete(const SlurmJob& before, SlurmJob now) {
    now.nodes = before.nodes;
    now.node_count = before.node_count;
    now.cpus = before.cpus;
    add(Kind::kEnded, now);
  }

  void add(Kind kind, const SlurmJob& job) {
    events_.push_back({kind, job, {}});
  }

  std::vector<SlurmEvent> events_;
};

}  // namespace

std::vector<SlurmEvent> SlurmJobs::look(const std::vector<SlurmJob>& jobs) {
  std::map<uint32_t, SlurmJob> now_by_id;
  for (const SlurmJob& job : jobs) now_by_id[job.job_id] = job;
  Differences differences;
  auto before = jobs_.begin();
  // Merge of two maps sorted by id.
  for (const auto& [id, now] : now_by_id) {
    for (; before != jobs_.end() && before->first < id; ++before) {
      if (holds_nodes(before->second)) differences.lose(before->second);
    }
    const bool known = before != jobs_.end() && before->first == id;
    const SlurmJob* earlier = known ? &before++->second : nullptr;
    const bool held = earlier && holds_nodes(*earlier);
    if (held && !is_other_run(*earlier, now) &&
        now.phase != SlurmPhase::kWaiting) {
      differences.go_on(*earlier, now);
      continue;
    }
    if (held) differences.end(*earlier, now);
    const bool told =
        earlier && !held && has_run(*earlier) && !is_other_run(*earlier, now);
    if (!told) differences.begin(now);
  }
  for (; before != jobs_.end(); ++before) {
    if (holds_nodes(before->second)) differences.lose(before->second);
  }
  jobs_ = std::move(now_by_id);
  return differences.take();
}

std::vector<SlurmEvent> SlurmJobs::look(const std::vector<SlurmNode>& nodes) {
  std::map<std::string, uint32_t> now_by_name;
  std::vector<SlurmEvent> events;
  for (const SlurmNode& node : nodes) {
    now_by_name[node.name] = node.cpus;
    const auto before = cpus_.find(node.name);
    if (before == cpus_.end() || before->second != node.cpus) {
      events.push_back({Kind::kNodeCpus, {}, node});
    }
  }
  for (const auto& [name, cpus] : cpus_) {
    if (!now_by_name.contains(name)) {
      events.push_back({Kind::kNodeCpus, {}, {name, 0}});
    }
  }
  cpus_ = std::move(now_by_name);
  return events;
}

uint32_t gpus_of_gres(const std::string& gres) {
  uint32_t gpus = 0;
  std::string_view rest = gres;
  while (!rest.empty()) {
    std::string_view entry = take_until(rest, ',');
    entry = entry.substr(0, entry.find('('));  // "gpu:2(IDX:0-1)"
    if (entry.starts_with("gres:") || entry.starts_with("gres/")) {
      entry.remove_prefix(5);
    }
    if (!entry.starts_with("gpu:")) continue;
    uint32_t number = 0;
    if (to_number(entry.substr(entry.rfind(':') + 1), number)) gpus += number;
  }
  return gpus;
}

}  // namespace penstock
