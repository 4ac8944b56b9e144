// `penstock cache`: the sample caches of this node.
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
#include "penstock/loader/dataset.h"
#include "penstock/loader/sample_cache.h"
#include "tools/penstock/command_options.h"
#include "loader/data/rule_options.h"
#include "tools/penstock/commands.h"
#include "tools/penstock/json_text.h"
#include "tools/penstock/progress_line.h"

namespace penstock {
namespace {

struct CacheArguments {
  std::string group;               // owner of the caches; "": the user
  bool json = false;               // of status
  std::vector<std::string> names;  // of drop
  bool all = false;                // of drop
  // Of warm:
  std::vector<std::string> data;
  std::optional<RecordLayout> records;
  SampleRules rules;
  std::string size = "auto";
  std::string name;
  uint64_t keep_s = 600;
};

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
    return Error{Code::kUnavailable, 0, "interrupted; the cached samples stay"};
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

namespace {

Status run_cache_status(const CacheArguments& arguments, Terminal& terminal) {
  const auto owner = owner_of(arguments);
  if (!owner) return owner.error();
  const auto caches = list_caches(*owner);
  if (!caches) return caches.error();
  if (arguments.json) {
    auto json = nlohmann::ordered_json::array();
    for (const CacheFacts& cache : *caches) json.push_back(json_of(cache));
    terminal.out << json_text(json);
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

// Ctrl-C ends it; samples cached by then stay. Warnings go to errors.
Status run_cache_warm(const CacheArguments& arguments, Terminal& terminal,
                      std::ostream& errors) {
  const auto owner = owner_of(arguments);
  if (!owner) return owner.error();
  const auto bytes = size_of(arguments);
  if (!bytes) return bytes.error();
  auto dataset = open_dataset(arguments.data, arguments.records, arguments.rules);
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

// An empty value, as from an unset variable, would mean the user's own caches.
std::string is_given(const std::string& text) {
  return text.empty() ? "must not be empty" : "";
}

std::string is_a_name(const std::string& text) {
  const auto file = cache_file_name(text);
  return file ? "" : file.error().message;
}

void add_group(CLI::App* command, CacheArguments& it) {
  command
      ->add_option("--group", it.group,
                   "caches shared by the members of this group")
      ->check(is_given);
}

void add_warm(CLI::App& cache, CacheArguments& it) {
  CLI::App* warm = cache.add_subcommand(
      "warm", "Read a data set's samples into this node's cache");
  warm->add_option("DATA", it.data,
                   "a folder of pictures, an LMDB database, tar shards, or a "
                   "file of records")
      ->required()
      ->check(is_given);
  warm->add_option(
          "--size", it.size,
          "bytes to fill; auto: half of the memory that the cgroup has left")
      ->capture_default_str();
  warm->add_option("--name", it.name, "name of the cache")->check(is_a_name);
  warm->add_option("--keep", it.keep_s,
                   "keep the unused cache for this many seconds")
      ->check(CLI::Range(uint64_t{1}, kLongestCacheKeep_s))
      ->capture_default_str();
  const auto layout = [&it]() -> RecordLayout& {
    if (!it.records) it.records.emplace();
    return *it.records;
  };
  auto* record = warm->add_option_function<uint64_t>(
      "--record-bytes",
      [layout](uint64_t bytes) { layout().record_bytes = bytes; },
      "bytes of a record, including its label");
  warm->add_option_function<uint64_t>(
          "--label-bytes",
          [layout](uint64_t bytes) { layout().label_bytes = bytes; },
          "bytes of the label at the start of a record")
      ->needs(record);
  warm->add_option_function<uint64_t>(
          "--header-bytes",
          [layout](uint64_t bytes) { layout().header_bytes = bytes; },
          "bytes before the first record")
      ->needs(record);
  add_rule_options(*warm, it.rules);
  add_group(warm, it);
}

Status run_chosen(const CLI::App& cache, const CacheArguments& it,
                  Invocation& invocation) {
  if (cache.got_subcommand("status")) {
    return run_cache_status(it, invocation.terminal);
  }
  if (cache.got_subcommand("warm")) {
    return run_cache_warm(it, invocation.terminal, invocation.errors);
  }
  return run_cache_drop(it, invocation.terminal);
}

}  // namespace

Run add_cache(CLI::App* cache) {
  auto it = std::make_shared<CacheArguments>();
  cache->require_subcommand(1);
  CLI::App* status =
      cache->add_subcommand("status", "Show the caches' contents and hits");
  status->add_flag("--json", it->json, "print JSON");
  add_group(status, *it);
  add_warm(*cache, *it);
  CLI::App* drop = cache->add_subcommand(
      "drop", "Remove caches; jobs that use one keep using it");
  CLI::Option* names = drop->add_option(
      "NAME", it->names, "name of the cache, from penstock cache status");
  drop->add_flag("--all", it->all, "remove all caches")->excludes(names);
  add_group(drop, *it);
  return [cache, it](Invocation& invocation) {
    return run_chosen(*cache, *it, invocation);
  };
}

}  // namespace penstock
