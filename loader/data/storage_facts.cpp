#include "loader/data/storage_facts.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "common/clock.h"
#include "loader/data/memory_room.h"

namespace penstock {
namespace {

constexpr uint64_t kSamplesLookedAt = 256;

struct FilesystemName {
  unsigned long magic;
  const char* name;
};
// Numbers missing in linux/magic.h are from the projects' own headers.
constexpr FilesystemName kFilesystems[] = {
    {EXT4_SUPER_MAGIC, "ext4"},   {XFS_SUPER_MAGIC, "xfs"},
    {BTRFS_SUPER_MAGIC, "btrfs"}, {TMPFS_MAGIC, "tmpfs"},
    {RAMFS_MAGIC, "ramfs"},       {OVERLAYFS_SUPER_MAGIC, "overlay"},
    {NFS_SUPER_MAGIC, "nfs"},     {FUSE_SUPER_MAGIC, "fuse"},
    {0x0BD00BD0, "lustre"},       {0x47504653, "gpfs"},
    {0x19830326, "beegfs"},       {0x00c36400, "ceph"},
    {SMB2_SUPER_MAGIC, "smb"},    {V9FS_MAGIC, "9p"},
};

// The value of a line that starts with `key`; 0: no such line.
double figure_in(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream rest(line.substr(key.size()));
    double value = 0;
    rest >> value;
    return value;
  }
  return 0;
}

}  // namespace

double storage_bytes_read() {
  return figure_in("/proc/self/io", "read_bytes:");
}

std::string filesystem_of(const std::string& path) {
  struct statfs facts {};
  if (::statfs(path.c_str(), &facts) != 0) return "";
  const auto* found = std::find_if(
      std::begin(kFilesystems), std::end(kFilesystems),
      [&](const FilesystemName& it) {
        return it.magic == static_cast<unsigned long>(facts.f_type);
      });
  return found == std::end(kFilesystems) ? "" : found->name;
}

bool keeps_files_in_memory(const std::string& filesystem) {
  return filesystem == "tmpfs" || filesystem == "ramfs";
}

double bytes_of_samples(const Dataset& dataset) {
  const uint64_t looked_at = std::min(dataset.size(), kSamplesLookedAt);
  const auto reader = dataset.new_reader(ReadMode::kBuffered);
  double sum = 0;
  uint64_t found = 0;
  for (uint64_t i = 0; i < looked_at; ++i) {
    const auto size_bytes =
        reader->open(i * dataset.size() / looked_at, SampleSource::kUsual);
    if (!size_bytes) continue;
    sum += static_cast<double>(*size_bytes);
    ++found;
  }
  return found == 0 ? 0
                    : sum / static_cast<double>(found) *
                          static_cast<double>(dataset.size());
}

double read_bytes_per_s(const Dataset& dataset,
                        const std::vector<uint64_t>& samples) {
  const auto reader = dataset.new_reader(ReadMode::kBuffered);
  uint64_t bytes = 0, spent_ns = 0;
  for (const uint64_t index : samples) {
    const uint64_t begin_ns = monotonic_ns();
    if (!reader->open(index, SampleSource::kMemory)) continue;
    const auto sample = reader->read();
    spent_ns += monotonic_ns() - begin_ns;
    if (sample) bytes += sample->size();
    if (static_cast<double>(spent_ns) * 1e-9 >= kMemoryRead_s) break;
  }
  return spent_ns == 0
             ? 0
             : static_cast<double>(bytes) / static_cast<double>(spent_ns) * 1e9;
}

double cache_room_bytes() {
  const double machine = figure_in("/proc/meminfo", "MemAvailable:") * 1024;
  const auto group = group_memory();
  return group ? std::min(machine, static_cast<double>(group->left_bytes))
               : machine;
}

}  // namespace penstock
