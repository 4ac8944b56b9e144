#include "cgroup/v2_tree.h"

#include <map>

#include "cgroup/backend_parts.h"
#include "cgroup/v2_attach.h"
#include "cgroup/v2_layout.h"
#include "common/clock.h"

namespace penstock {
namespace {

constexpr const char* kProcs = "/cgroup.procs";
constexpr const char* kThreads = "/cgroup.threads";

}  // namespace

std::string V2Tree::home_dir(std::string_view task) const {
  return std::string(task) + "/" + settings.name + "_home";
}

std::string V2Tree::loader_dir(std::string_view task) const {
  return std::string(task) + "/" + settings.name + "_loader";
}

bool V2Tree::is_loader_dir(std::string_view path) const {
  return path.ends_with(loader_dir(""));
}

std::string V2Tree::task_of(std::string_view path) const {
  for (const std::string& ours : {home_dir(""), loader_dir("")}) {
    if (!path.ends_with(ours)) continue;
    path.remove_suffix(ours.size());
    break;
  }
  return std::string(path);
}

Status V2Tree::mark_job(const std::string& job, JobId id) const {
  return fs->write_mark(job, mark(".job"), std::to_string(id));
}

Status V2Tree::restore_marked(const std::string& group, const char* file,
                              const char* what) const {
  const auto former = fs->read_mark(group, mark(what));
  if (!former) {
    return former.error().code == Code::kNotFound ? Status(Done{})
                                                  : Status(former.error());
  }
  Status done = fs->write_file(group + file, *former);
  if (done) done = fs->remove_mark(group, mark(what));
  return unless_gone(std::move(done));
}

std::vector<std::string> V2Tree::dirs_in(const std::string& group,
                                         Status& first) const {
  auto names = fs->list_dirs(group);
  if (!names) {
    note_first(first, unless_gone(std::move(names).error()));
    return {};
  }
  for (std::string& name : *names) name = group + "/" + name;
  return *std::move(names);
}

bool V2Tree::is_populated(const std::string& group) const {
  auto events = fs->read_file(group + "/cgroup.events");
  if (events) return keyed_figure(*events, "populated") != 0u;
  // An unreadable group may have processes.
  return !is_gone(events.error());
}

Result<std::set<pid_t>> V2Tree::threads_in(const std::string& group) const {
  return read_pids(*fs, group + kThreads);
}

Status V2Tree::move_thread(pid_t tid, const std::string& group) const {
  return fs->write_file(group + kThreads, std::to_string(tid));
}

// The kernel moves whichever process has the pid at the time of the write, even
// one of another job or a service. So the group is checked last before the
// write. (A short race remains.)
//
// Before Linux 6.2 a move into another cpuset resets a thread's affinity to the
// whole cpuset. So affinities are saved and restored.
Status V2Tree::move_process(pid_t tid, const std::string& from,
                            const std::string& to) const {
  std::map<pid_t, CpuSet> masks;
  const auto status = proc->status(tid);
  const auto threads = status ? proc->threads(status->tgid)
                              : Result<std::vector<pid_t>>(status.error());
  for (pid_t thread : threads ? *threads : std::vector<pid_t>{tid}) {
    if (masks.size() == kMostThreads) break;
    if (auto mask = sched->affinity(thread)) masks.emplace(thread, *mask);
  }
  auto groups = proc->cgroups(tid);
  if (!groups || (*groups)[""] != from) return Done{};
  Status moved = fs->write_file(to + kProcs, std::to_string(tid));
  for (const auto& [thread, mask] : masks) {
    const auto now = sched->affinity(thread);
    if (now && *now != mask) (void)sched->set_affinity(thread, mask);
  }
  return unless_gone(std::move(moved));
}

Status V2Tree::move_processes(const std::set<pid_t>& threads,
                              const std::string& from, const std::string& to,
                              uint64_t until_ns) const {
  Status first = Done{};
  for (pid_t tid : threads) {
    if (monotonic_ns() > until_ns) break;
    // Another thread's move may have moved this process already.
    auto groups = proc->cgroups(tid);
    if (!groups || (*groups)[""] != from) continue;
    note_first(first, move_process(tid, from, to));
  }
  return first;
}

Status V2Tree::bring_home(const Home& home) const {
  const pid_t tid = home.task.tid;
  Status first = proc->verify(home.task);
  if (!first) return first;
  // An away thread is always below its own task's group, but home.cpuset_path
  // may name another task of the job.
  std::string task = home.cpuset_path;
  auto groups = proc->cgroups(tid);
  if (groups && is_loader_dir((*groups)[""])) task = task_of((*groups)[""]);
  const std::string loader = loader_dir(task);
  Status moved = move_loader(*this, tid, loader, home_dir(task));
  // The task has no home group: no loan now.
  if (!moved && moved.error().saved_errno == ENOENT) {
    moved = move_loader(*this, tid, loader, task);
  }
  note_first(first, std::move(moved));
  note_first(first, restore_affinity(*sched, tid, home.affinity));
  return first;
}

}  // namespace penstock
