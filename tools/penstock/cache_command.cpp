#include "tools/penstock/cache_command.h"

#include <fmt/format.h>
#include <grp.h>

#include <ctime>
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
  if (const auto number = parse_uint(arguments.group, 0, UINT32_MAX)) {
    return own_cache_folder(gid_t(*number));
  }
  const struct group* found = ::getgrnam(arguments.group.c_str());
  if (found != nullptr) return own_cache_folder(found->gr_gid);
  return Error{Code::kNotFound, 0,
               "--group " + arguments.group + ": there is no such group"};
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
  if (cache.processes > 0) return fmt::format("{} processes", cache.processes);
  return fmt::format("unused for {}, kept for {} s", age(cache.used_s),
                     cache.keep_s);
}

std::string paragraph(const CacheFacts& cache) {
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
  auto bytes = parse_rate_bytes_per_s(arguments.size);
  if (!bytes) return std::move(bytes).error().wrap("--size " + arguments.size);
  return bytes;
}

}  // namespace

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

Status run_cache_warm(const CacheArguments& arguments, Terminal& terminal) {
  const auto owner = owner_of(arguments);
  if (!owner) return owner.error();
  const auto bytes = size_of(arguments);
  if (!bytes) return bytes.error();
  auto dataset = open_dataset(arguments.data, arguments.records);
  if (!dataset) return std::move(dataset).error();
  auto cache = SampleCache::open(**dataset, {.name = arguments.name,
                                             .most_bytes = *bytes,
                                             .group = owner->group,
                                             .keep_s = arguments.keep_s});
  if (!cache) return std::move(cache).error();
  const InterruptAsRequest request;
  ProgressLine progress("warm", "samples");
  const auto filled = fill_cache(*dataset, *cache, std::ref(progress));
  if (!filled) return filled.error();
  terminal.out << fmt::format(
      "{}: {} of {} samples, {}; {} read from storage; kept for {} s{}\n",
      (*cache)->path(), filled->cached_samples, (*dataset)->size(),
      format_bytes(double(filled->cached_bytes)),
      format_bytes(double(filled->read_bytes)), arguments.keep_s,
      filled->is_full ? "; it is full" : "");
  if (!InterruptAsRequest::is_requested()) return Done{};
  return Error{Code::kUnavailable, 0, "interrupted; what is cached stays"};
}

}  // namespace penstock
