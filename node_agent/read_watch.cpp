#include "node_agent/read_watch.h"

#include <algorithm>
#include <utility>

#include "broker/reads_look.h"

namespace penstock {
namespace {

constexpr uint64_t kDeadline_ms = 3000;

// Processes that load the job's data: workers, or what has loader threads, or
// the trainers.
std::set<pid_t> loading_processes(Job& job) {
  std::set<pid_t> out;
  for (const Unit* unit : job.units()) out.insert(unit->pid);
  if (!out.empty()) return out;
  for (const auto& [pid, task] : job.tasks) {
    for (const Rank& rank : task.ranks) {
      if (!rank.gone) out.insert(rank.writer.tid);
    }
  }
  return out;
}

}  // namespace

void ReadWatch::want(JobId job) {
  if (std::find(wanted_.begin(), wanted_.end(), job) == wanted_.end()) {
    wanted_.push_back(job);
  }
  look_at_next();
}

std::optional<std::optional<NetworkReads>> ReadWatch::take(JobId job) {
  const auto record = records_.find(job);
  if (record == records_.end()) return std::nullopt;
  return std::exchange(record->second.news, std::nullopt);
}

void ReadWatch::forget_ended() {
  std::erase_if(records_, [&](const auto& entry) {
    return node_.registry.find_job(entry.first) == nullptr;
  });
}

// One at a time: a user may have few children of the broker's, which also read
// profiles.
void ReadWatch::look_at_next() {
  while (!is_looking_ && !wanted_.empty()) {
    const JobId id = wanted_.front();
    wanted_.pop_front();
    Job* job = node_.registry.find_job(id);
    if (job == nullptr) continue;
    const std::set<pid_t> all = loading_processes(*job);
    // Ascending, so that the next look is at the same ones.
    std::vector<pid_t> some(all.begin(), all.end());
    some.resize(std::min(some.size(), kMaxLookedAt));
    if (some.empty()) continue;
    is_looking_ = true;
    ChildWork work;
    work.what = "what job " + std::to_string(id) + " reads";
    work.user = job->uid;
    work.elsewhere = [&](int out) {
      return node_.machine.broker.look_at_reads(some, job->uid, out);
    };
    work.deadline_ms = kDeadline_ms;
    work.max_bytes = kMaxReadsBytes;
    children_.start(
        work, [this, id, count = all.size()](const Result<std::string>& text) {
          is_looking_ = false;
          add(id, count, text);
          look_at_next();
        });
  }
}

// Without a look nothing is known, so that nothing is said.
void ReadWatch::add(JobId job, size_t processes,
                    const Result<std::string>& text) {
  Result<ReadsLook> look = text ? parse_reads_look(*text) : text.error();
  Record& record = records_[job];
  if (!look || look->by_process.empty()) {
    record.last.reset();
    return;
  }
  for (const NetworkFile& file : look->files) {
    if (record.files.size() < kMostFiles) record.files.insert(file);
  }
  if (record.last) {
    record.news = network_reads(*record.last, *look, record.files, processes);
  }
  record.last = *std::move(look);
}

}  // namespace penstock
