#include "loader/data/memory_room.h"

#include <algorithm>
#include <fstream>
#include <limits>

#include "common/units.h"

namespace penstock {
namespace {

// For "no limit" v1 shows 2^63 less a page.
constexpr uint64_t kNoLimit = uint64_t{1} << 60;

struct GroupFiles {
  const char* mount;
  const char* limit;
  const char* usage;
  // Lines of memory.stat. `files` includes tmpfs pages, which cannot be
  // reclaimed without swap; mapped and dirty file pages can, but later.
  const char* files;
  const char* tmpfs;
};
constexpr GroupFiles kV1 = {"/sys/fs/cgroup/memory", "/memory.limit_in_bytes",
                            "/memory.usage_in_bytes", "total_cache ",
                            "total_shmem "};
constexpr GroupFiles kV2 = {"/sys/fs/cgroup", "/memory.max", "/memory.current",
                            "file ", "shmem "};

// kNoLimit: the file says "max", or does not exist.
uint64_t number_in(const std::string& path) {
  std::ifstream file(path);
  uint64_t value = 0;
  return file >> value ? value : kNoLimit;
}

struct FilePages {
  uint64_t files = 0;
  uint64_t tmpfs = 0;
};

FilePages pages_in(const std::string& path, const GroupFiles& names) {
  FilePages pages;
  std::ifstream file(path);
  const auto figure = [](const std::string& line, const std::string& key) {
    return parse_uint(line.substr(key.size()), 0, kNoLimit).value_or(0);
  };
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(names.files)) pages.files = figure(line, names.files);
    if (line.starts_with(names.tmpfs)) pages.tmpfs = figure(line, names.tmpfs);
  }
  return pages;
}

void take_tightest(const std::string& folder, const GroupFiles& names,
                   std::optional<MemoryRoom>& room) {
  const uint64_t limit = number_in(folder + names.limit);
  if (limit >= kNoLimit) return;
  const uint64_t used = number_in(folder + names.usage);
  const FilePages pages = pages_in(folder + "/memory.stat", names);
  const uint64_t given_up = pages.files - std::min(pages.files, pages.tmpfs);
  const uint64_t kept = used - std::min(used, given_up);
  const uint64_t left = limit - std::min(limit, kept);
  if (!room || left < room->left_bytes) room = MemoryRoom{limit, left};
}

}  // namespace

std::optional<MemoryRoom> group_memory(const std::string& root) {
  std::optional<MemoryRoom> room;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controllers != "memory" && !controllers.empty()) continue;
    const GroupFiles& names = controllers.empty() ? kV2 : kV1;
    std::string group = line.substr(second + 1);
    if (!group.starts_with('/')) continue;
    for (;;) {
      take_tightest(root + names.mount + group, names, room);
      if (group.empty() || group == "/") break;
      group.resize(group.rfind('/'));
    }
  }
  return room;
}

}  // namespace penstock
