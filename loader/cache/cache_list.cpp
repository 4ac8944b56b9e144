#include "loader/cache/cache_list.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>

#include "loader/cache/cache_layout.h"
#include "loader/cache/membership.h"

namespace penstock {
namespace {

constexpr std::string_view kEnding = kCacheFileEnding;

// Excludes names with control characters, which could act on a terminal.
bool has_allowed_name(std::string_view file, std::string_view ending) {
  if (!file.ends_with(ending)) return false;
  file.remove_suffix(ending.size());
  return bool(cache_file_name(std::string(file)));
}

// The open folder's entries with an allowed name of that ending, in byte order.
// Empty if the folder is unreadable.
std::vector<std::string> cache_files(int folder, std::string_view ending) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator it(
      "/proc/self/fd/" + std::to_string(folder), error);
  for (; !error && it != std::filesystem::directory_iterator();
       it.increment(error)) {
    std::string name = it->path().filename();
    if (has_allowed_name(name, ending)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

struct OpenedCache {
  UniqueFd fd;
  struct stat status {};
  alignas(CacheHeader) uint8_t bytes[sizeof(CacheHeader)] = {};

  const CacheHeader& header() const {
    return *reinterpret_cast<const CacheHeader*>(bytes);
  }
};

// nullptr: not a cache of this version, or not accessible.
std::unique_ptr<OpenedCache> open_cache(int folder, const std::string& name) {
  auto cache = std::make_unique<OpenedCache>();
  cache->fd.reset(::openat(folder, name.c_str(),
                           O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!cache->fd || ::fstat(cache->fd.get(), &cache->status) != 0 ||
      !S_ISREG(cache->status.st_mode) ||
      ::pread(cache->fd.get(), cache->bytes, sizeof cache->bytes, 0) !=
          ssize_t(sizeof cache->bytes) ||
      cache->header().magic != kCacheMagic) {
    return nullptr;
  }
  return cache;
}

CacheFacts facts_of(const OpenedCache& cache, const std::string& file_name,
                    const std::string& folder) {
  const CacheHeader& header = cache.header();
  CacheFacts facts;
  facts.name = file_name.substr(0, file_name.size() - kEnding.size());
  facts.path = folder + "/" + file_name;
  facts.data_set.assign(header.data_set,
                        ::strnlen(header.data_set, sizeof header.data_set));
  facts.samples = header.samples;
  facts.ready_samples = header.ready_samples;
  facts.ready_bytes = header.ready_bytes;
  facts.memory_bytes = static_cast<uint64_t>(cache.status.st_blocks) * 512;
  facts.hits = header.hits;
  facts.hit_bytes = header.hit_bytes;
  facts.misses = header.misses;
  facts.dropped = header.dropped;
  facts.damaged = header.damaged;
  facts.created_s = header.created_s;
  facts.used_s = static_cast<uint64_t>(cache.status.st_mtim.tv_sec);
  facts.keep_s = header.keep_s;
  facts.processes = count_members(cache.fd.get());
  return facts;
}

// nullopt: not a regular file.
std::optional<CacheFacts> facts_in(int folder, const std::string& file_name,
                                   const std::string& path) {
  if (const auto cache = open_cache(folder, file_name)) {
    return facts_of(*cache, file_name, path);
  }
  struct stat status {};
  if (::fstatat(folder, file_name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  CacheFacts facts;
  facts.name = file_name.substr(0, file_name.size() - kEnding.size());
  facts.path = path + "/" + file_name;
  facts.is_unknown = true;
  facts.memory_bytes = static_cast<uint64_t>(status.st_blocks) * 512;
  return facts;
}

// nullopt: the folder does not exist.
Result<std::optional<UniqueFd>> open_if_there(const CacheOwner& owner) {
  struct stat found {};
  if (::lstat(cache_folder_path(owner).c_str(), &found) != 0 &&
      errno == ENOENT) {
    return std::optional<UniqueFd>();
  }
  auto folder = open_cache_folder(owner);
  if (!folder) return std::move(folder).error();
  return std::optional(*std::move(folder));
}

}  // namespace

Result<std::vector<CacheFacts>> list_caches(const CacheOwner& owner) {
  auto folder = open_if_there(owner);
  if (!folder) return std::move(folder).error();
  std::vector<CacheFacts> caches;
  if (!*folder) return caches;
  for (const std::string& name : cache_files((*folder)->get(), kEnding)) {
    auto facts = facts_in((*folder)->get(), name, cache_folder_path(owner));
    if (facts) caches.push_back(*std::move(facts));
  }
  return caches;
}

Status drop_cache(const CacheOwner& owner, const std::string& name) {
  auto file_name = cache_file_name(name);
  if (!file_name) return std::move(file_name).error();
  const std::string path = cache_folder_path(owner) + "/" + *file_name;
  auto folder = open_if_there(owner);
  if (!folder) return std::move(folder).error();
  if (!*folder) return system_error(ENOENT, path);
  if (::unlinkat((*folder)->get(), file_name->c_str(), 0) != 0) {
    return cache_file_error(errno, path);
  }
  (void)::rmdir(cache_folder_path(owner).c_str());  // if it is empty
  return Done{};
}

void drop_empty_cache(const CacheOwner& owner, const std::string& name) {
  const auto file_name = cache_file_name(name);
  auto folder = open_if_there(owner);
  if (!file_name || !folder || !*folder) return;
  const auto cache = open_cache((*folder)->get(), *file_name);
  if (!cache || cache->header().ready_samples > 0 ||
      !shut_out_cache_members(cache->fd.get())) {
    return;
  }
  remove_cache_file((*folder)->get(), *file_name, cache->fd.get());
  (void)::rmdir(cache_folder_path(owner).c_str());  // if it is empty
}

void sweep_caches(const CacheOwner& owner, std::string_view ending) {
  auto folder = open_if_there(owner);
  if (!folder || !*folder) return;
  const auto now_s = static_cast<uint64_t>(::time(nullptr));
  for (const std::string& name : cache_files((*folder)->get(), ending)) {
    (void)remove_if_left((*folder)->get(), name, UINT64_MAX, now_s);
  }
  (void)::rmdir(cache_folder_path(owner).c_str());  // if it is empty
}

}  // namespace penstock
