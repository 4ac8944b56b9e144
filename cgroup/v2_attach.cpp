#include "cgroup/v2_attach.h"

#include "cgroup/backend_parts.h"
#include "common/text_scan.h"

namespace penstock {
namespace {

constexpr const char* kCpus = "/cpuset.cpus";

bool is_blank(std::string_view text) { return take_word(text).empty(); }

// The same text in two children of a group gives both the same CPUs, also if
// Slurm changes the group's meanwhile.
Result<std::string> cpus_of(const V2Tree& tree, const std::string& group) {
  auto own = tree.fs->read_file(group + kCpus);
  if (!own || !is_blank(*own)) return own;
  return tree.fs->read_file(group + kCpus + ".effective");
}

}  // namespace

Status move_loader(const V2Tree& tree, pid_t tid, const std::string& loader,
                   const std::string& to) {
  const auto status = tree.proc->status(tid);
  if (!status) return status.error();
  if (status->tgid != tid) return tree.move_thread(tid, to);
  auto groups = tree.proc->cgroups(tid);
  if (!groups) return std::move(groups).error();
  const std::string from = (*groups)[""];
  if (from == to || (from != loader && to != loader)) return Done{};
  auto same = cpus_of(tree, to == loader ? from : to);
  if (!same) return std::move(same).error();
  auto lent = tree.fs->read_file(loader + kCpus);
  if (!lent) return std::move(lent).error();
  Status done = tree.fs->write_file(loader + kCpus, *same);
  if (done) done = tree.move_thread(tid, to);
  if (!is_blank(*lent)) {
    note_first(done, tree.fs->write_file(loader + kCpus, *lent));
  }
  return done;
}

// A group has at most its parent's CPUs, whatever its own file says.
Status open_group(const V2Tree& tree, const std::string& group) {
  if (!tree.fs->exists(group + kCpus)) return Done{};
  auto all = tree.fs->read_file("cpuset.cpus.effective");
  if (!all) return std::move(all).error();
  return unless_gone(tree.fs->write_file(group + kCpus, *all));
}

}  // namespace penstock
