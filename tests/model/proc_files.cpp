#include "tests/model/proc_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdint>

namespace penstock::model {
namespace {

UniqueFd open_dir(const std::filesystem::path& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

ProcFiles::ProcFiles() {
  std::filesystem::create_directory(dir_.path() / "proc");
  std::filesystem::create_directory(dir_.path() / "groups");
  dir_.write("proc/sys/kernel/sched_autogroup_enabled", "0\n");
  proc_ = open_proc();
}

UniqueFd ProcFiles::open_proc() const { return open_dir(dir_.path() / "proc"); }
UniqueFd ProcFiles::open_groups() const {
  return open_dir(dir_.path() / "groups");
}

void ProcFiles::write_at(const std::string& path,
                         const std::string& text) const {
  const UniqueFd fd(::openat(proc_.get(), path.c_str(),
                             O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  (void)!::write(fd.get(), text.data(), text.size());
}

void ProcFiles::add(pid_t tid, pid_t pid) {
  const std::string own = std::to_string(tid);
  ::mkdirat(proc_.get(), own.c_str(), 0755);
  if (tid == pid) ::mkdirat(proc_.get(), (own + "/task").c_str(), 0755);
  const std::string below = fmt::format("{}/task/{}", pid, tid);
  ::mkdirat(proc_.get(), below.c_str(), 0755);
  write_at(below + "/children", "");
  schedstats_[tid].reset(::openat(proc_.get(), (own + "/schedstat").c_str(),
                                  O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  write_schedstat(tid, 0, 0);
}

void ProcFiles::remove(pid_t tid, pid_t pid) {
  // Readers that have these files open find nothing in them.
  const std::string own = std::to_string(tid);
  for (const char* file : {"schedstat", "stat", "status", "cgroup", "comm"}) {
    const std::string path = own + "/" + file;
    const UniqueFd fd(
        ::openat(proc_.get(), path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    ::unlinkat(proc_.get(), path.c_str(), 0);
  }
  schedstats_.erase(tid);
  const std::string below = fmt::format("{}/task/{}", pid, tid);
  ::unlinkat(proc_.get(), (below + "/children").c_str(), 0);
  ::unlinkat(proc_.get(), below.c_str(), AT_REMOVEDIR);
  if (tid == pid) {
    ::unlinkat(proc_.get(), (own + "/task").c_str(), AT_REMOVEDIR);
  }
  ::unlinkat(proc_.get(), own.c_str(), AT_REMOVEDIR);
}

void ProcFiles::write(pid_t tid, const char* file, const std::string& text) {
  write_at(fmt::format("{}/{}", tid, file), text);
}

void ProcFiles::write_children(pid_t pid, const std::string& text) {
  write_at(fmt::format("{0}/task/{0}/children", pid), text);
}

void ProcFiles::write_schedstat(pid_t tid, uint64_t run_ns, uint64_t wait_ns) {
  const std::string text = fmt::format("{:020} {:020} 1\n", run_ns, wait_ns);
  (void)!::pwrite(schedstats_.at(tid).get(), text.data(), text.size(), 0);
}

void ProcFiles::make_group(const std::string& path) const {
  dir_.write("groups/" + path + "/tasks", "");
}

void ProcFiles::remove_group(const std::string& path) const {
  std::filesystem::remove_all(dir_.path() / "groups" / path);
}

}  // namespace penstock::model
