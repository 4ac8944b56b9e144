#include "cgroup/v2_cpusets.h"

#include "cgroup/backend_parts.h"
#include "common/text_scan.h"

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

// The kernel refuses to empty a populated cpuset (ENOSPC). Then the fence's
// CPUs stay, as if Slurm had set them; Slurm's own bound is not narrower.
Status unfence(const V2Tree& tree, const std::string& task) {
  auto marked = tree.fs->read_mark(task, tree.mark(".cpus"));
  if (!marked && marked.error().code == Code::kNotFound) return Done{};
  Status done = tree.fs->write_file(task + kCpus, "\n");
  const bool stays = !done && done.error().saved_errno == ENOSPC;
  return done || stays ? tree.fs->remove_mark(task, tree.mark(".cpus")) : done;
}

}  // namespace

// If the cpuset holds neither of our values, Slurm has rewritten it since.
Result<CpuSet> own_cpus(const V2Tree& tree, const std::string& group) {
  auto now = read_cpus(*tree.fs, group + kCpus);
  if (!now) return now;
  auto marked = tree.fs->read_mark(group, tree.mark(".cpus"));
  if (!marked && marked.error().code == Code::kNotFound) return now;
  if (!marked) return std::move(marked).error();
  const auto it = parse_widened(*marked);
  const bool is_ours = it && (*now == it->wrote || *now == it->before);
  return is_ours ? it->own : *now;
}

Result<CpuSet> task_cpus(const V2Tree& tree, const SlurmGroups& task) {
  for (const std::string& level : {task.task, task.user, task.step, task.job}) {
    auto own = own_cpus(tree, level);
    if (!own || !own->empty()) return own;
  }
  return CpuSet();
}

Status widen(const V2Tree& tree, const std::string& group, const CpuSet& lent) {
  auto own = own_cpus(tree, group);
  if (own && own->empty()) {
    Status done = unfence(tree, group);
    if (!done) return done;
    own = own_cpus(tree, group);
  }
  if (!own) return std::move(own).error();
  if (own->empty()) return Done{};
  auto now = read_cpus(*tree.fs, group + kCpus);
  if (!now) return std::move(now).error();
  const CpuSet wanted = *own | lent;
  if (wanted == *own) {
    Status done = Done{};
    if (*now != *own) {
      done = tree.fs->write_file(group + kCpus, own->to_string());
    }
    return done ? tree.fs->remove_mark(group, tree.mark(".cpus")) : done;
  }
  if (wanted == *now) return Done{};
  // A crash between any two of these writes leaves a mark from which own_cpus()
  // finds Slurm's CPUs.
  const std::string name = tree.mark(".cpus");
  Status done =
      tree.fs->write_mark(group, name, to_text(Widened{*own, *now, wanted}));
  if (done) done = tree.fs->write_file(group + kCpus, wanted.to_string());
  if (!done) return done;
  return tree.fs->write_mark(group, name,
                             to_text(Widened{*own, wanted, wanted}));
}

Status widen_all(const V2Tree& tree, const std::set<std::string>& groups,
                 const CpuSet& lent) {
  Status first = Done{};
  for (const std::string& group : groups) {
    note_first(first, unless_gone(widen(tree, group, lent)));
  }
  return first;
}

Status fence(const V2Tree& tree, const std::string& task, const CpuSet& cpus) {
  auto now = read_cpus(*tree.fs, task + kCpus);
  if (!now) return std::move(now).error();
  if (!now->empty()) return Done{};
  Status done = tree.fs->write_mark(task, tree.mark(".cpus"),
                                    to_text(Widened{CpuSet(), CpuSet(), cpus}));
  return done ? tree.fs->write_file(task + kCpus, cpus.to_string()) : done;
}

}  // namespace penstock
