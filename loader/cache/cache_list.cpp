#include "loader/cache/cache_list.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>

#include "loader/cache/cache_layout.h"
#include "loader/cache/membership.h"

namespace penstock {
namespace {

constexpr std::string_view kEnding = kCacheFileEnding;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// The open folder's entries that are called as caches are, in byte order.
std::vector<std::string> cache_files(int folder) {
  std::vector<std::string> names;
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseFolder> entries(copy >= 0 ? ::fdopendir(copy)
                                                            : nullptr);
  if (!entries) return names;
  while (const dirent* entry = ::readdir(entries.get())) {
    if (std::string_view(entry->d_name).ends_with(kEnding)) {
      names.emplace_back(entry->d_name);
    }
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

// nullptr: no cache, or none that the caller can get at.
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

// nullopt: there is none.
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
  for (const std::string& name : cache_files((*folder)->get())) {
    if (const auto cache = open_cache((*folder)->get(), name)) {
      caches.push_back(facts_of(*cache, name, cache_folder_path(owner)));
    }
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
    return system_error(errno, path);
  }
  (void)::rmdir(cache_folder_path(owner).c_str());  // if none is left
  return Done{};
}

void sweep_caches(const CacheOwner& owner) {
  auto folder = open_if_there(owner);
  if (!folder || !*folder) return;
  const auto now_s = static_cast<uint64_t>(::time(nullptr));
  for (const std::string& name : cache_files((*folder)->get())) {
    (void)remove_if_left((*folder)->get(), name, UINT64_MAX, now_s);
  }
  (void)::rmdir(cache_folder_path(owner).c_str());  // if none is left
}

}  // namespace penstock
