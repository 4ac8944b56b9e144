#include "select_ext/ctld/job_recorder.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// Wait for Slurm's end of a job after its ranks have ended.
constexpr double kWaitForSlurm_s = 60;

std::optional<double> known(int64_t unix_s) {
  if (unix_s <= 0) return std::nullopt;
  return double(unix_s);
}

}  // namespace

void JobRecorder::learn(Managed& job, double now_unix_s) {
  double ranks = 0, cpu_s = 0, bytes = 0;
  double ceiling = HUGE_VAL;
  bool measured = !job.parts.empty();
  for (const auto& [node, part] : job.parts) {
    measured = measured && part.is_measured && !part.in_cores;
    ranks += part.ranks;
    cpu_s += part.ranks * part.loader_cpu_s_per_sample;
    bytes += part.ranks * part.storage_bytes_per_sample;
    ceiling = std::min(ceiling, part.ceiling);
  }
  job.ranks = std::max(job.ranks, ranks);
  if (!measured) return;
  if (job.measured_since_unix_s == 0) job.measured_since_unix_s = now_unix_s;
  job.ceiling = ceiling;  // of the slowest ranks
  job.loader_cpu_s = cpu_s / ranks;
  job.storage_bytes = bytes / ranks;
}

void JobRecorder::on_cluster(const ClusterEvent& event, double now_unix_s) {
  if (event.kind == ClusterEvent::Kind::kPartChanged) {
    Managed& job = jobs_[event.job];
    job.parts[event.node] = job.words[event.node] = job.last = event.part;
    job.idle_since_unix_s = 0;
    job.is_new = true;
    learn(job, now_unix_s);
    return;
  }
  if (event.kind != ClusterEvent::Kind::kPartEnded) return;
  const auto found = jobs_.find(event.job);
  if (found == jobs_.end()) return;
  Managed& job = found->second;
  job.words[event.node] = job.last = event.part;
  job.parts.erase(event.node);
  job.is_new = true;
  if (!job.parts.empty()) return;
  job.idle_since_unix_s = now_unix_s;
  if (job.measured_since_unix_s > 0) {
    job.measured_s = now_unix_s - job.measured_since_unix_s;
  }
}

void JobRecorder::on_slurm(const SlurmEvent& event, double now_unix_s) {
  slurm_was_heard_ = true;
  switch (event.kind) {
    case SlurmEvent::Kind::kNodeCpus:
      return;
    case SlurmEvent::Kind::kEnded:
    case SlurmEvent::Kind::kRequeued:
      return end_run(event, now_unix_s);
    default:
      break;
  }
  slurm_[event.job.job_id] = event.job;
  const auto found = jobs_.find(event.job.job_id);
  if (found != jobs_.end()) found->second.is_new = true;
}

void JobRecorder::end_run(const SlurmEvent& event, double now_unix_s) {
  const uint64_t id = event.job.job_id;
  const auto found = jobs_.find(id);
  if (found != jobs_.end()) {
    JobRecord record = record_of(found->second, event.job, now_unix_s);
    if (event.kind == SlurmEvent::Kind::kRequeued) record.state = "REQUEUED";
    const bool says_when = event.job.phase == SlurmPhase::kEnded &&
                           event.job.state != "LOST" &&
                           event.job.end_unix_s > 0;
    record.end_unix_s = says_when ? double(event.job.end_unix_s) : now_unix_s;
    ended_.push_back(std::move(record));
    jobs_.erase(found);
  }
  slurm_.erase(id);
}

std::optional<JobRecorder::Kind> JobRecorder::kind_of(uint64_t job) const {
  const auto managed = jobs_.find(job);
  if (managed == jobs_.end()) return std::nullopt;
  const auto slurm = slurm_.find(uint32_t(job));
  if (slurm != slurm_.end()) {
    return Kind{slurm->second.uid,
                job_kind(slurm->second.name, slurm->second.command)};
  }
  if (expects_slurm_ || slurm_was_heard_) return std::nullopt;
  const JobPart& part = managed->second.last;
  return Kind{part.uid, job_kind(part.name, "")};
}

std::vector<JobRecord> JobRecorder::take(double now_unix_s) {
  std::vector<JobRecord> records = std::exchange(ended_, {});
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    Managed& job = it->second;
    const auto slurm = slurm_.find(it->first);
    if (job.is_new && slurm != slurm_.end()) {
      job.is_new = false;
      records.push_back(record_of(job, slurm->second, now_unix_s));
    }
    const bool is_over = job.idle_since_unix_s > 0 && slurm == slurm_.end() &&
                         now_unix_s - job.idle_since_unix_s > kWaitForSlurm_s;
    if (is_over && !slurm_was_heard_) {
      records.push_back(record_alone(job, now_unix_s));
    }
    it = is_over ? jobs_.erase(it) : std::next(it);
  }
  return records;
}

JobRecord JobRecorder::record_alone(const Managed& job,
                                    double now_unix_s) const {
  JobRecord record;
  record.cluster = cluster_;
  record.job_id = uint32_t(job.last.id);
  record.uid = job.last.uid;
  record.name = job.last.name;
  record.kind = job_kind(job.last.name, "");
  record.submit_unix_s = job.last.started_unix_s;
  record.start_unix_s = job.last.started_unix_s;
  if (job.idle_since_unix_s > 0) record.end_unix_s = job.idle_since_unix_s;
  record.state = job.idle_since_unix_s > 0 ? "ENDED" : "RUNNING";
  record.ranks = uint32_t(job.ranks);
  record.measured_s = job.measured_s;
  if (job.measured_since_unix_s > 0 && job.idle_since_unix_s == 0) {
    record.measured_s = now_unix_s - job.measured_since_unix_s;
  }
  record.model = job.last.model;
  record.batch = job.last.batch;
  if (job.last.mean_rate > 0) {
    record.mean_rate_samples_per_s = job.last.mean_rate;
  }
  double ranks = 0, reserve_cores = 0;
  std::vector<NodeTotals> nodes;
  for (const auto& [node, part] : job.words) {
    nodes.push_back({part.ranks, part.run});
    record.grant_changes += part.grant_changes;
    ranks += part.ranks;
    reserve_cores += part.trainer_reserve_cores;
  }
  if (job.ceiling) record.trainer_reserve_cores = reserve_cores / ranks;
  record.ceiling_samples_per_s = job.ceiling;
  record.loader_cpu_s_per_sample = job.loader_cpu_s;
  record.storage_bytes_per_sample = job.storage_bytes;
  record.run = of_all_nodes(nodes);
  record.last_seen_unix_s = now_unix_s;
  return record;
}

// Slurm's fields override the agents'.
JobRecord JobRecorder::record_of(const Managed& job, const SlurmJob& slurm,
                                 double now_unix_s) const {
  JobRecord record = record_alone(job, now_unix_s);
  static_cast<SlurmLabels&>(record) = slurm;
  record.submit_unix_s = double(slurm.submit_unix_s);
  record.command_hash = slurm.command.empty() ? "" : text_hash(slurm.command);
  record.kind = job_kind(slurm.name, slurm.command);
  record.nodes = slurm.node_count;
  record.start_unix_s = known(slurm.start_unix_s);
  record.end_unix_s.reset();
  return record;
}

}  // namespace penstock
