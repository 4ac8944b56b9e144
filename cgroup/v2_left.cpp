// What Slurm left of steps that had groups of ours: it removes each directory
// of a step once, and where one of ours was in the way for a moment the rest is
// left to us.
//
// A starting slurmstepd makes the job's and the step's directory under an flock
// on the scope and an ending one removes them under it (Slurm 22.05 to 26.05);
// `user`, `slurm` and its own move into that follow without it. So Slurm's lock
// is taken at one call of refresh() and the step looked at once more and
// removed at the next: whoever had the lock before us is in the step by then,
// and whoever comes waits, and makes its directories anew.
#include <utility>

#include "cgroup/v2_backend.h"

namespace penstock {
namespace {

// Calls of refresh(), half a second each, without a process.
constexpr int kLeftLooks = 4;
// Slurm's steps wait for the lock meanwhile: what cannot be removed is left to
// a later run.
constexpr int kMostTries = 3;
// Of those that an earlier run marked.
constexpr size_t kMostLeft = 1024;

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
  // The job's own where this was its last step.
  (void)fs_->remove_dir(parent_of(step));
}

void V2Backend::remove_what_slurm_left() {
  const auto locked = std::exchange(scope_locks_, {});
  for (auto it = left_.begin(); it != left_.end();) {
    const std::string& path = it->first;
    LeftStep& step = it->second;
    if (!fs_->exists(path) || step.tries >= kMostTries) {
      it = left_.erase(it);
      continue;
    }
    step.looks = is_populated(path) ? 0 : step.looks + 1;
    const std::string scope = parent_of(parent_of(path));
    if (step.looks > kLeftLooks && locked.contains(scope)) {
      remove_step(path);
      ++step.tries;
      step.looks = 0;
    } else if (step.looks >= kLeftLooks && !scope_locks_.contains(scope)) {
      if (auto lock = fs_->try_lock(scope)) {
        scope_locks_.emplace(scope, *std::move(lock));
      }
    }
    ++it;
  }
}

}  // namespace penstock
