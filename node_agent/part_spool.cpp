#include "node_agent/part_spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "common/admin_file.h"
#include "common/unique_fd.h"
#include "common/whole_file.h"

namespace penstock {
namespace {

constexpr size_t kMaxFileBytes = 512 << 10;

Result<ReportPart> read_part(int dir_fd, const std::string& name) {
  const UniqueFd file(
      ::openat(dir_fd, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return system_error(errno, name);
  std::string text;
  if (const int error = read_whole(file.get(), kMaxFileBytes, text);
      error != 0) {
    return system_error(error, name);
  }
  return read_report_part(text);
}

}  // namespace

Status PartSpool::load() {
  const int copy = ::openat(dir_fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(
      copy < 0 ? nullptr : ::fdopendir(copy), ::closedir);
  if (!listing) return system_error(errno, "cannot list the reports that wait");
  std::vector<PartKey> keys;
  while (const dirent* entry = ::readdir(listing.get())) {
    if (const auto key = parse_part_name(entry->d_name)) keys.push_back(*key);
  }
  std::sort(keys.begin(), keys.end(), [](const PartKey& a, const PartKey& b) {
    return a.started_ms < b.started_ms;
  });
  for (const PartKey& key : keys) {
    if (const auto gone = queue_.add(key, 0)) remove(*gone);
  }
  return Done{};
}

Status PartSpool::add(const ReportPart& part) {
  const PartKey key = part_key(part.id, part.started_unix_s);
  const std::string name = part_name(key);
  Status written = replace_file(
      {.dir_fd = dir_fd_, .name = name, .aside = "part.new"}, to_text(part));
  if (!written) return written;
  if (const auto gone = queue_.add(key, part.updated_unix_s)) remove(*gone);
  return Done{};
}

std::vector<PartSpool::Due> PartSpool::due(double now_s) {
  std::vector<Due> out;
  for (DuePart& due : queue_.due(now_s, kAtOnce)) {
    Result<ReportPart> part = read_part(dir_fd_, part_name(due.key));
    if (part) {
      queue_.identify(due.key, part->updated_unix_s);
      out.push_back({*std::move(part), std::move(due.controllers)});
    } else if (part.error().code == Code::kNotFound ||
               part.error().code == Code::kInvalidArgument ||
               part.error().saved_errno == ELOOP) {
      queue_.drop(due.key);
      remove(due.key);
    }
  }
  return out;
}

void PartSpool::kept(const ReportKept& kept, size_t controller) {
  const PartKey key = part_key(kept.id, kept.started_unix_s);
  if (queue_.kept(key, kept.updated_unix_s, controller)) remove(key);
}

void PartSpool::remove(const PartKey& key) const {
  (void)::unlinkat(dir_fd_, part_name(key).c_str(), 0);
}

}  // namespace penstock
