#include "select_ext/allocator/cluster_state.h"

#include <utility>

#include "select_ext/allocator/cluster_answer.h"
#include "select_ext/allocator/objective.h"

namespace penstock::allocator {

void ClusterState::join(JobState job) {
  int slot = static_cast<int>(jobs.size());
  if (free_slots.empty()) {
    jobs.emplace_back();
  } else {
    slot = free_slots.back();
    free_slots.pop_back();
  }
  slot_of_id[job.id] = slot;
  for (size_t i = 0; i < job.links.size(); ++i) {
    Link& link = job.links[i];
    Resource& resource = resources[link.resource];
    link.member = resource.members.size();
    resource.members.push_back({slot, static_cast<int>(i)});
    resource.ranks += link.ranks;
    resource.entitled_cores += link.entitled_cores;
  }
  job.payment = payment_of(*this, job);
  job.centre = free_level(*this, job);
  // The slot's previous job may still be in the lists `touched` and `changed`.
  job.is_touched = jobs[slot].is_touched;
  job.is_changed = jobs[slot].is_changed;
  jobs[slot] = std::move(job);
  note_change(slot);  // even if its level stays 0
  set_level(slot, answered_level(*this, jobs[slot]));
  note_shares(jobs[slot].links);
}

void ClusterState::leave(int slot) {
  set_level(slot, 0);
  JobState& job = jobs[slot];
  for (const Link& link : job.links) {
    Resource& resource = resources[link.resource];
    const Member last = resource.members.back();
    resource.members[link.member] = last;
    resource.members.pop_back();
    jobs[last.job].links[last.link].member = link.member;
    resource.ranks -= link.ranks;
    resource.entitled_cores -= link.entitled_cores;
  }
  const std::vector<Link> links = std::move(job.links);
  JobState empty;
  empty.is_touched = job.is_touched;
  empty.is_changed = job.is_changed;
  slot_of_id.erase(job.id);
  job = std::move(empty);
  free_slots.push_back(slot);
  note_shares(links);
}

// A change of the number of ranks changes each rank's share, and so the floors.
void ClusterState::note_shares(const std::vector<Link>& links) {
  for (const Link& link : links) {
    if (is_cores(link.resource)) return;
    Resource& resource = resources[link.resource];
    if (resource.is_reshared) continue;
    resource.is_reshared = true;
    reshared.push_back(link.resource);
  }
}

// Runs once for all jobs that came and went, because it evaluates every member.
// Of a resource with many members only jobs whose floor has risen above their
// level are moved. The others hardly differ, and the next price change moves
// them.
void ClusterState::follow_shares() {
  for (int number : std::exchange(reshared, {})) {
    Resource& resource = resources[number];
    resource.is_reshared = false;
    const bool asks_all = !resource.has_many();
    for (const Member& member : resource.members) {
      const JobState& job = jobs[member.job];
      if (asks_all) {
        touch(member.job);
        set_level(member.job, answered_level(*this, job));
      } else if (const double floor = floor_of(*this, job); job.level < floor) {
        set_level(member.job, floor);
      }
    }
  }
}

bool ClusterState::is_in_band(const Resource& resource) const {
  if (resource.used > resource.capacity * (1 + kRounding)) return false;
  return resource.price == 0 || resource.used >= resource.least_use;
}

void ClusterState::enqueue(int number) {
  Resource& resource = resources[number];
  if (resource.is_queued) return;
  resource.is_queued = true;
  queue.push_back(number);
}

void ClusterState::note_change(int slot) {
  if (jobs[slot].is_changed) return;
  jobs[slot].is_changed = true;
  changed.push_back(slot);
}

void ClusterState::touch(int slot) {
  if (jobs[slot].is_touched) return;
  jobs[slot].is_touched = true;
  touched.push_back(slot);
}

void ClusterState::set_level(int slot, double level) {
  JobState& job = jobs[slot];
  if (level == job.level) return;
  const double cores =
      cores_at_level(job, level) - cores_at_level(job, job.level);
  const double levels = level - job.level;
  job.level = level;
  note_change(slot);
  for (const Link& link : job.links) {
    Resource& resource = resources[link.resource];
    resource.used += link.scale * (is_cores(link.resource) ? cores : levels);
    if (!is_in_band(resource)) enqueue(link.resource);
  }
}

void ClusterState::set_price(int number, double price) {
  Resource& resource = resources[number];
  note_move(number);
  resource.price = price;
  for (const Member& member : resource.members) {
    JobState& job = jobs[member.job];
    job.payment = payment_of(*this, job);
    touch(member.job);
  }
  double used = 0;
  for (const Member& member : resource.members) {
    JobState& job = jobs[member.job];
    set_level(member.job, answered_level(*this, job));
    used += use_at_level(*this, job, job.links[member.link], job.level);
  }
  resource.used = used;  // the increments of set_level accumulate rounding
}

void ClusterState::note_move(int number) {
  if (!objective->is_sum()) return;  // no dual
  Resource& resource = resources[number];
  if (resource.is_moved) return;
  resource.is_moved = true;
  moved.push_back(number);
}

void ClusterState::forget_moves() {
  for (int number : moved) resources[number].is_moved = false;
  moved.clear();
}

}  // namespace penstock::allocator
