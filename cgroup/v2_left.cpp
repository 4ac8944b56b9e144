// Removes leftover directories of steps that had groups of ours. Slurm tries to
// remove each directory of a step once; if one of our groups was there at that
// moment, the step's directories stay.
//
// The race with a new step of the same name (Slurm 22.05 to 26.05): a starting
// slurmstepd creates the job's and the step's directory and writes to their
// cgroup.subtree_control under an flock on the scope. An ending one removes
// them under the same lock.
//
// The starting slurmstepd then creates `user` and `slurm`, and moves itself
// into `slurm`, without the lock. So the lock alone does not suffice: a step is
// removed under the lock only if no slurmstepd has started there for two
// seconds. One that started earlier is in the step by then. One that starts
// later waits briefly for the lock and creates its directories again.
#include <algorithm>

#include "cgroup/v2_backend.h"

namespace penstock {
namespace {

// Calls of refresh(), half a second apart, under watch and without a process.
constexpr int kLeftLooks = 4;
// After these a step is left to a later run.
constexpr int kMostTries = 3;
// Steps to adopt from an earlier run.
constexpr size_t kMostLeft = 1024;
// Concurrent watches: inotify allows root 128 instances in all.
constexpr int kMostWatches = 16;

std::string parent_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

}  // namespace

void V2Backend::find_left_steps() {
  for (const std::string& job : job_dirs()) {
    for (const std::string& step : dirs_in(job)) {
      if (left_.size() >= kMostLeft) return;
      if (fs_->read_mark(step, mark(".step"))) left_.try_emplace(step);
    }
  }
}

void V2Backend::remove_step(const std::string& step) {
  for (const std::string& task : dirs_in(step + "/user")) {
    for (const std::string& group : {loader_dir(task), home_dir(task)}) {
      (void)fs_->remove_dir(group);
    }
    (void)fs_->remove_dir(task);
  }
  for (const char* group : {"/user", "/slurm", ""}) {
    (void)fs_->remove_dir(step + group);
  }
  // The job's own directory, if this was its last step; else this fails.
  (void)fs_->remove_dir(parent_of(step));
}

void V2Backend::look_at_left_step(const std::string& path, LeftStep& step) {
  const auto begin_anew = [&step] {
    step.looks = 0;
    step.begins.reset();
  };
  if (is_populated(path)) return begin_anew();
  if (!step.begins) {
    const auto watches = std::count_if(
        left_.begin(), left_.end(),
        [](const auto& left) { return left.second.begins.has_value(); });
    if (watches >= kMostWatches) return;
    auto watch = fs_->watch_writes(path + "/cgroup.subtree_control");
    if (watch) step.begins.emplace(*std::move(watch));
    return;
  }
  if (++step.looks < kLeftLooks) return;
  const auto slurms_lock = fs_->try_lock(parent_of(parent_of(path)));
  if (!slurms_lock) return;
  if (!step.begins->was_written() && !is_populated(path)) {
    remove_step(path);
    ++step.tries;
  }
  begin_anew();
}

void V2Backend::remove_what_slurm_left() {
  for (auto it = left_.begin(); it != left_.end();) {
    const bool is_done =
        !fs_->exists(it->first) || it->second.tries >= kMostTries;
    if (!is_done) look_at_left_step(it->first, it->second);
    it = is_done ? left_.erase(it) : std::next(it);
  }
}

}  // namespace penstock
