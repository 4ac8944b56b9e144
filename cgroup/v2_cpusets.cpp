// Widens and restores Slurm's cpusets. A mark on each changed group
// distinguishes our values from Slurm's.
#include "cgroup/backend_parts.h"
#include "cgroup/text_scan.h"
#include "cgroup/v2_backend.h"

namespace penstock {
namespace {

constexpr const char* kCpus = "/cpuset.cpus";

Result<CpuSet> read_cpus(const CgroupFs& fs, const std::string& file) {
  auto text = fs.read_file(file);
  if (!text) return std::move(text).error();
  std::string_view rest = *text;
  const std::string_view word = take_word(rest);
  return word.empty() ? CpuSet() : CpuSet::parse(word);
}

// Content of the mark .cpus. While a write is in progress the cpuset holds
// either `before` or `wrote`.
struct Widened {
  CpuSet own;     // set by Slurm
  CpuSet before;  // in the cpuset before our last write
  CpuSet wrote;   // by our last write
};

std::string to_text(const Widened& it) {
  std::string text;
  for (const CpuSet& cpus : {it.own, it.before, it.wrote}) {
    text += (cpus.empty() ? "-" : cpus.to_string()) + " ";
  }
  return text;
}

Result<CpuSet> take_cpus(std::string_view& text) {
  const std::string_view word = take_word(text);
  return word == "-" ? CpuSet() : CpuSet::parse(word);
}

std::optional<Widened> parse_widened(std::string_view text) {
  const auto own = take_cpus(text);
  const auto before = take_cpus(text);
  const auto wrote = take_cpus(text);
  if (!own || !before || !wrote) return std::nullopt;
  return Widened{*own, *before, *wrote};
}

}  // namespace

// If the cpuset holds neither of our values, Slurm has rewritten it since.
Result<CpuSet> V2Backend::own_cpus(const std::string& group) const {
  auto now = read_cpus(*fs_, group + kCpus);
  if (!now) return now;
  auto marked = fs_->read_mark(group, mark(".cpus"));
  if (!marked && marked.error().code == Code::kNotFound) return now;
  if (!marked) return std::move(marked).error();
  const auto it = parse_widened(*marked);
  const bool is_ours = it && (*now == it->wrote || *now == it->before);
  return is_ours ? it->own : *now;
}

// Slurm sets cpusets at some levels only; the others inherit their parent's.
// Empty: Slurm constrains no level.
Result<CpuSet> V2Backend::task_cpus(const SlurmGroups& task) const {
  for (const std::string& level : {task.task, task.user, task.step, task.job}) {
    auto own = own_cpus(level);
    if (!own || !own->empty()) return own;
  }
  return CpuSet();
}

Status V2Backend::widen(const std::string& group, const CpuSet& lent) {
  auto own = own_cpus(group);
  if (own && own->empty()) {
    Status done = unfence(group);
    if (!done) return done;
    own = own_cpus(group);
  }
  if (!own) return std::move(own).error();
  if (own->empty()) return Done{};
  auto now = read_cpus(*fs_, group + kCpus);
  if (!now) return std::move(now).error();
  const CpuSet wanted = *own | lent;
  if (wanted == *own) {
    Status done = Done{};
    if (*now != *own) {
      done = fs_->write_file(group + kCpus, own->to_string());
    }
    return done ? fs_->remove_mark(group, mark(".cpus")) : done;
  }
  if (wanted == *now) return Done{};
  // A crash between any two of these writes leaves a mark from which own_cpus()
  // finds Slurm's CPUs.
  const std::string name = mark(".cpus");
  Status done =
      fs_->write_mark(group, name, to_text(Widened{*own, *now, wanted}));
  if (done) done = fs_->write_file(group + kCpus, wanted.to_string());
  if (!done) return done;
  return fs_->write_mark(group, name, to_text(Widened{*own, wanted, wanted}));
}

// Keeps a task without a loan on its own CPUs: its parent `user` is widened for
// a neighbour's loan. A task with groups of ours needs no fence; its home group
// bounds it.
Status V2Backend::fence(const std::string& task, const CpuSet& cpus) {
  auto now = read_cpus(*fs_, task + kCpus);
  if (!now) return std::move(now).error();
  if (!now->empty()) return Done{};
  Status done = fs_->write_mark(task, mark(".cpus"),
                                to_text(Widened{CpuSet(), CpuSet(), cpus}));
  return done ? fs_->write_file(task + kCpus, cpus.to_string()) : done;
}

// The kernel refuses to empty a populated cpuset (ENOSPC). Then the fence's
// CPUs stay, as if Slurm had set them; Slurm's own bound is not narrower.
Status V2Backend::unfence(const std::string& task) {
  auto marked = fs_->read_mark(task, mark(".cpus"));
  if (!marked && marked.error().code == Code::kNotFound) return Done{};
  Status done = fs_->write_file(task + kCpus, "\n");
  const bool stays = !done && done.error().saved_errno == ENOSPC;
  return done || stays ? fs_->remove_mark(task, mark(".cpus")) : done;
}

Status V2Backend::fence_neighbours(const KnownJob& job,
                                   const SlurmGroups& task) {
  auto cpus = task_cpus(task);
  if (!cpus) return std::move(cpus).error();
  Status first = Done{};
  for (const std::string& other : dirs_in(task.user)) {
    const auto known = job.tasks.find(other);
    if (known != job.tasks.end() && known->second.prepared) continue;
    Status done = fence(other, *cpus);
    if (first && !done && !is_gone(done)) first = std::move(done);
  }
  return first;
}

}  // namespace penstock
