#include "broker/reads_look.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>

#include "broker/user_reader.h"
#include "cgroup/proc_reader.h"
#include "common/clock.h"
#include "common/text_scan.h"
#include "common/unique_fd.h"

namespace penstock {
namespace {

// A file that is read in pieces may be open for a moment only.
constexpr int kLooks = 16;
constexpr unsigned kPause_us = 20'000;
constexpr size_t kMostFiles = 32;  // of a process
constexpr size_t kMostFileText = size_t{1} << 20;

std::string text_of(const std::string& path) {
  std::string text;
  const UniqueFd in(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> block;
  ssize_t size = 0;
  while (in && text.size() < kMostFileText &&
         (size = ::read(in.get(), block.data(), block.size())) > 0) {
    text.append(block.data(), size_t(size));
  }
  return text;
}

// Of a line "NAME: NUMBER".
std::optional<uint64_t> number_after(std::string_view text,
                                     std::string_view name) {
  for (std::string_view line : split(text, '\n')) {
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    uint64_t number = 0;
    if (to_number(line, number)) return number;
  }
  return std::nullopt;
}

std::string folder_of_process(pid_t process) {
  return "/proc/" + std::to_string(process) + "/";
}

// "": not a file that is open for reading. Looks at the link, not at the file.
std::string path_behind(const std::string& link) {
  struct stat found {};
  std::array<char, PATH_MAX> path;
  if (::lstat(link.c_str(), &found) != 0 || !(found.st_mode & S_IRUSR)) {
    return "";
  }
  const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
  if (size <= 0 || path[0] != '/' || size_t(size) == path.size()) return "";
  return std::string(path.data(), size_t(size));
}

void add_open_files(pid_t process, std::set<std::string>& files) {
  const std::string folder = folder_of_process(process) + "fd";
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()),
                                                 ::closedir);
  while (open && files.size() < kMostFiles) {
    const dirent* entry = ::readdir(open.get());
    if (entry == nullptr) return;
    const std::string path = path_behind(folder + "/" + entry->d_name);
    if (!path.empty()) files.insert(path);
  }
}

std::string in_one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; },
      '?');
  return text;
}

std::string counters_of(std::span<const pid_t> processes) {
  std::string out = "t\t" + std::to_string(monotonic_ns()) + "\n";
  for (const pid_t process : processes) {
    const std::string text = text_of(folder_of_process(process) + "io");
    const auto bytes = number_after(text, "rchar: ");
    const auto calls = number_after(text, "syscr: ");
    if (!bytes || !calls) continue;
    out += "p\t" + std::to_string(process) + "\t" + std::to_string(*bytes) +
           "\t" + std::to_string(*calls) + "\n";
  }
  return out;
}

std::string network_files(pid_t process, const std::set<std::string>& files) {
  if (files.empty()) return "";
  const auto mounts =
      parse_mounts(text_of(folder_of_process(process) + "mounts"));
  if (!mounts) return "";
  std::string out;
  for (const std::string& file : files) {
    const MountEntry* mount = mount_of(*mounts, file);
    if (mount == nullptr || !is_network_file_system(mount->type)) continue;
    out += "f\t" + in_one_line(mount->type) + "\t" +
           in_one_line(mount->target) + "\t" + in_one_line(file) + "\n";
  }
  return out;
}

bool become(uid_t user, gid_t group) {
  return ::setgroups(0, nullptr) == 0 &&
         ::setresgid(group, group, group) == 0 &&
         ::setresuid(user, user, user) == 0;
}

}  // namespace

void look_at_reads(std::span<const pid_t> processes, uid_t user, int out) {
  const Result<ProcReader> proc = ProcReader::open();
  if (!proc || processes.empty()) return;
  const Result<ProcStatus> status = proc->status(processes.front());
  const auto group =
      status ? group_of_user_process(*status, user) : std::nullopt;
  if (!group || !become(user, *group)) return;
  std::string text = counters_of(processes);
  std::vector<std::set<std::string>> files(processes.size());
  for (int look = 0; look < kLooks; ++look) {
    for (size_t i = 0; i < files.size(); ++i) {
      add_open_files(processes[i], files[i]);
    }
    ::usleep(kPause_us);
  }
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string more = network_files(processes[i], files[i]);
    if (text.size() + more.size() <= kMaxReadsBytes) text += more;
  }
  (void)!::write(out, text.data(), text.size());
}

bool is_network_file_system(std::string_view type) {
  static constexpr std::string_view kNetwork[] = {
      "9p",  "afs",  "beegfs",   "ceph",  "cifs",  "fuse", "gpfs",  "lustre",
      "nfs", "nfs4", "orangefs", "panfs", "pvfs2", "smb3", "wekafs"};
  // Of containers and desktops.
  static constexpr std::string_view kLocal[] = {
      "fuse.fuse-overlayfs", "fuse.lxcfs", "fuse.portal", "fuse.squashfuse"};
  const auto is = [&](std::string_view name) { return type == name; };
  const auto begins = [&](std::string_view name) {
    return type.starts_with(name);
  };
  return std::any_of(std::begin(kNetwork), std::end(kNetwork), is) ||
         (type.starts_with("fuse.") &&
          std::none_of(std::begin(kLocal), std::end(kLocal), begins));
}

const MountEntry* mount_of(const std::vector<MountEntry>& mounts,
                           std::string_view path) {
  const MountEntry* out = nullptr;
  for (const MountEntry& mount : mounts) {
    const std::string& target = mount.target;
    const bool holds =
        target == "/" ||
        (path.starts_with(target) &&
         (path.size() == target.size() || path[target.size()] == '/'));
    if (holds && (out == nullptr || target.size() >= out->target.size())) {
      out = &mount;
    }
  }
  return out;
}

}  // namespace penstock
