// Adds jobs to their resources and removes them.
#include <utility>

#include "select_ext/allocator/cluster_state.h"

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
  job.payment = payment_of(job);
  job.centre = free_level(job, job.payment);
  // The slot's previous job may still be in the lists `touched` and `changed`.
  job.is_touched = jobs[slot].is_touched;
  job.is_changed = jobs[slot].is_changed;
  jobs[slot] = std::move(job);
  note_change(slot);  // even if its level stays 0
  set_level(slot, answered_level(jobs[slot]));
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
        set_level(member.job, answered_level(job));
      } else if (const double floor = floor_of(job); job.level < floor) {
        set_level(member.job, floor);
      }
    }
  }
}

}  // namespace penstock::allocator
