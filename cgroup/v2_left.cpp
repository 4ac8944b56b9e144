#include "cgroup/v2_left.h"

#include <algorithm>

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

void V2LeftSteps::add_marked(const std::vector<std::string>& jobs,
                             Status& first) {
  for (const std::string& job : jobs) {
    for (const std::string& step : tree_.dirs_in(job, first)) {
      if (steps_.size() >= kMostLeft) return;
      if (tree_.fs->read_mark(step, tree_.mark(".step"))) add(step);
    }
  }
}

void V2LeftSteps::remove(const std::string& step) const {
  Status unseen = Done{};  // then the removals below fail
  for (const std::string& task : tree_.dirs_in(step + "/user", unseen)) {
    for (const std::string& group :
         {tree_.loader_dir(task), tree_.home_dir(task)}) {
      (void)tree_.fs->remove_dir(group);
    }
    (void)tree_.fs->remove_dir(task);
  }
  for (const char* group : {"/user", "/slurm", ""}) {
    (void)tree_.fs->remove_dir(step + group);
  }
  // The job's own directory, if this was its last step; else this fails.
  (void)tree_.fs->remove_dir(parent_of(step));
}

void V2LeftSteps::look_at(const std::string& path, Step& step) {
  const auto begin_anew = [&step] {
    step.looks = 0;
    step.begins.reset();
  };
  if (tree_.is_populated(path)) return begin_anew();
  if (!step.begins) {
    const auto watches = std::count_if(
        steps_.begin(), steps_.end(),
        [](const auto& left) { return left.second.begins.has_value(); });
    if (watches >= kMostWatches) return;
    auto watch = tree_.fs->watch_writes(path + "/cgroup.subtree_control");
    if (watch) step.begins.emplace(*std::move(watch));
    return;
  }
  if (++step.looks < kLeftLooks) return;
  const auto slurms_lock = tree_.fs->try_lock(parent_of(parent_of(path)));
  if (!slurms_lock) return;
  if (!step.begins->was_written() && !tree_.is_populated(path)) {
    remove(path);
    ++step.tries;
  }
  begin_anew();
}

void V2LeftSteps::remove_unused() {
  for (auto it = steps_.begin(); it != steps_.end();) {
    const bool is_done =
        !tree_.fs->exists(it->first) || it->second.tries >= kMostTries;
    if (!is_done) look_at(it->first, it->second);
    it = is_done ? steps_.erase(it) : std::next(it);
  }
}

}  // namespace penstock
