#include "tools/penstock/cache_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <ostream>

#include "common/units.h"
#include "loader/cache/cache_fill.h"
#include "loader/cache/cache_list.h"
#include "penstock/loader/sample_cache.h"
#include "tools/penstock/progress_line.h"

namespace penstock {
namespace {

Result<CacheOwner> owner_of(const CacheArguments& arguments) {
  if (arguments.group.empty()) return own_cache_folder();
  auto group = cache_group(arguments.group);
  if (!group) return std::move(group).error().wrap("--group");
  return own_cache_folder(*group);
}

double share(uint64_t part, uint64_t whole) {
  return whole > 0 ? double(part) / double(whole) : 0;
}

std::string age(uint64_t then_s) {
  const auto now_s = static_cast<uint64_t>(std::time(nullptr));
  const uint64_t s = now_s - std::min(now_s, then_s);
  if (s < 120) return fmt::format("{} s", s);
  if (s < 7200) return fmt::format("{} min", s / 60);
  return fmt::format("{} h", s / 3600);
}

std::string in_use(const CacheFacts& cache) {
  if (cache.processes > 0) {
    return fmt::format("{} process{}", cache.processes,
                       cache.processes == 1 ? "" : "es");
  }
  return fmt::format("unused for {}, kept for {} s", age(cache.used_s),
                     cache.keep_s);
}

std::string paragraph(const CacheFacts& cache) {
  if (cache.is_unknown) {
    return fmt::format(
        "{}: {} of memory; of another version of Penstock, damaged, or not to "
        "be read; remove it with `penstock cache drop {}`\n",
        cache.name, format_bytes(double(cache.memory_bytes)), cache.name);
  }
  std::string text = fmt::format(
      "{}: {}\n"
      "  {} of {} samples ({:.1f}%), {} of memory, {}\n"
      "  hits {} of {} ({:.1f}%), {} not read from storage\n",
      cache.name, printable(cache.data_set, 1024), cache.ready_samples,
      cache.samples, 100 * share(cache.ready_samples, cache.samples),
      format_bytes(double(cache.memory_bytes)), in_use(cache), cache.hits,
      cache.hits + cache.misses,
      100 * share(cache.hits, cache.hits + cache.misses),
      format_bytes(double(cache.hit_bytes)));
  if (cache.dropped > 0) {
    text += fmt::format("  gave {} samples back, for memory that jobs needed\n",
                        cache.dropped);
  }
  if (cache.damaged > 0) {
    text += fmt::format("  found {} samples damaged\n", cache.damaged);
  }
  return text;
}

nlohmann::ordered_json json_of(const CacheFacts& cache) {
  return {{"name", cache.name},
          {"path", cache.path},
          {"unknown", cache.is_unknown},
          {"data_set", cache.data_set},
          {"samples", cache.samples},
          {"cached_samples", cache.ready_samples},
          {"cached_bytes", cache.ready_bytes},
          {"memory_bytes", cache.memory_bytes},
          {"hits", cache.hits},
          {"hit_bytes", cache.hit_bytes},
          {"misses", cache.misses},
          {"dropped", cache.dropped},
          {"damaged", cache.damaged},
          {"processes", cache.processes},
          {"created_s", cache.created_s},
          {"used_s", cache.used_s},
          {"keep_s", cache.keep_s}};
}

Result<uint64_t> size_of(const CacheArguments& arguments) {
  if (arguments.size == "auto") return uint64_t{0};
  auto bytes = parse_size_bytes(arguments.size);
  if (!bytes) return std::move(bytes).error().wrap("--size");
  return bytes;
}

// Collects warnings of a cache's threads until they are printed.
class Warnings {
 public:
  void add(const std::string& what) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(what);
  }
  void print(std::ostream& out) {
    const std::lock_guard lock(mutex_);
    for (const std::string& line : lines_) out << "penstock: " << line << "\n";
    lines_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

// The longest keep time requested so far.
uint64_t kept_s(const CacheOwner& owner, const std::string& path,
                uint64_t asked_s) {
  if (const auto caches = list_caches(owner)) {
    for (const CacheFacts& cache : *caches) {
      if (cache.path == path) return std::max(asked_s, cache.keep_s);
    }
  }
  return asked_s;
}

std::string summary_of(const CacheFilled& filled, const std::string& path,
                       uint64_t samples, uint64_t keep_s) {
  return fmt::format(
      "{}: {} of {} samples, {}; {} read from storage; kept for {} s{}\n", path,
      filled.cached_samples, samples, format_bytes(double(filled.cached_bytes)),
      format_bytes(double(filled.read_bytes)), keep_s,
      filled.is_full ? "; it is full" : "");
}

Status outcome_of(const CacheFilled& filled, uint64_t samples) {
  if (InterruptAsRequest::is_requested()) {
    return Error{Code::kUnavailable, 0, "interrupted; what is cached stays"};
  }
  if (!filled.first_unreadable) return Done{};
  return Error{
      Code::kIo, 0,
      fmt::format("{} of {} samples cannot be read; the first error: {}",
                  filled.unreadable_samples, samples,
                  filled.first_unreadable->message)};
}

// Fills the cache. Removes it if it is empty afterwards.
Result<CacheFilled> fill(const std::shared_ptr<const Dataset>& dataset,
                         std::shared_ptr<SampleCache> cache,
                         const CacheOwner& owner) {
  ProgressLine progress("warm", "samples");
  auto filled = fill_cache(dataset, cache, std::ref(progress));
  const bool is_empty = cache->ready_samples() == 0;
  const std::string name = std::filesystem::path(cache->path()).stem();
  cache.reset();
  if (is_empty) drop_empty_cache(owner, name);
  return filled;
}

}  // namespace

std::string shorter_keep(const CacheOwner& owner, uint64_t keep_s,
                         const std::string& config_path) {
  const auto config = load_config(config_path);
  if (!config || config->cache_keep_s >= keep_s || owner.base != kCacheBase) {
    return "";
  }
  return fmt::format(
      "where penstockd runs it removes the cache {} s after its last use: "
      "CacheKeep in {} is less than {} s",
      config->cache_keep_s, config_path, keep_s);
}

Status run_cache_status(const CacheArguments& arguments, Terminal& terminal) {
  const auto owner = owner_of(arguments);
  if (!owner) return owner.error();
  const auto caches = list_caches(*owner);
  if (!caches) return caches.error();
  if (arguments.json) {
    auto json = nlohmann::ordered_json::array();
    for (const CacheFacts& cache : *caches) json.push_back(json_of(cache));
    terminal.out << json.dump(2, ' ', false,
                              nlohmann::json::error_handler_t::replace)
                 << "\n";
    return Done{};
  }
  if (caches->empty()) {
    terminal.out << "no cache in " << cache_folder_path(*owner) << "\n";
  }
  for (const CacheFacts& cache : *caches) terminal.out << paragraph(cache);
  return Done{};
}

Status run_cache_drop(const CacheArguments& arguments, Terminal& terminal) {
  const auto owner = owner_of(arguments);
  if (!owner) return owner.error();
  std::vector<std::string> names = arguments.names;
  if (arguments.all) {
    const auto caches = list_caches(*owner);
    if (!caches) return caches.error();
    for (const CacheFacts& cache : *caches) names.push_back(cache.name);
  }
  if (names.empty() && !arguments.all) {
    return invalid(
        "drop: a NAME is needed, as `penstock cache status` has it, "
        "or --all");
  }
  for (const std::string& name : names) {
    if (Status dropped = drop_cache(*owner, name); !dropped) return dropped;
    terminal.out << name << ": dropped\n";
  }
  return Done{};
}

Status run_cache_warm(const CacheArguments& arguments, Terminal& terminal,
                      std::ostream& errors) {
  const auto owner = owner_of(arguments);
  if (!owner) return owner.error();
  const auto bytes = size_of(arguments);
  if (!bytes) return bytes.error();
  auto dataset = open_dataset(arguments.data, arguments.records);
  if (!dataset) return std::move(dataset).error();
  const auto warnings = std::make_shared<Warnings>();
  SampleCacheOptions options{
      .name = arguments.name,
      .most_bytes = *bytes,
      .group = owner->group,
      .keep_s = arguments.keep_s,
      .warn = [warnings](const std::string& what) { warnings->add(what); }};
  auto cache = SampleCache::open(**dataset, options);
  if (!cache) return std::move(cache).error();
  const std::string path = (*cache)->path();
  const uint64_t keep_s = kept_s(*owner, path, arguments.keep_s);
  const InterruptAsRequest request;
  const auto filled = fill(*dataset, *std::move(cache), *owner);
  warnings->print(errors);
  if (!filled) return filled.error();
  terminal.out << summary_of(*filled, path, (*dataset)->size(), keep_s);
  const std::string note = shorter_keep(*owner, keep_s, kConfigPath);
  if (!note.empty()) errors << "penstock: " << note << "\n";
  return outcome_of(*filled, (*dataset)->size());
}

}  // namespace penstock
