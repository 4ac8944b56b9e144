// penstock cache: a command with subcommands.
#include "loader/cache/cache_folder.h"
#include "penstock/loader/sample_cache.h"
#include "tools/penstock/command_options.h"

namespace penstock {
namespace {

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
                   "caches that the members of this group share")
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
  warm->add_option("--size", it.size,
                   "bytes to fill; auto: half of what the memory cgroup leaves")
      ->capture_default_str();
  warm->add_option("--name", it.name, "of the cache")->check(is_a_name);
  warm->add_option("--keep", it.keep_s,
                   "seconds that it is kept when nobody uses it")
      ->check(CLI::Range(uint64_t{1}, kLongestCacheKeep_s))
      ->capture_default_str();
  const auto layout = [&it]() -> RecordLayout& {
    if (!it.records) it.records.emplace();
    return *it.records;
  };
  auto* record = warm->add_option_function<uint64_t>(
      "--record-bytes",
      [layout](uint64_t bytes) { layout().record_bytes = bytes; },
      "of each record, its label included");
  warm->add_option_function<uint64_t>(
          "--label-bytes",
          [layout](uint64_t bytes) { layout().label_bytes = bytes; },
          "of the label that each record begins with")
      ->needs(record);
  warm->add_option_function<uint64_t>(
          "--header-bytes",
          [layout](uint64_t bytes) { layout().header_bytes = bytes; },
          "before the first record")
      ->needs(record);
  add_group(warm, it);
}

}  // namespace

void add_cache(CommandLine& line) {
  CacheArguments& it = line.cache;
  CLI::App* cache =
      line.app.add_subcommand("cache", "This node's caches of samples");
  cache->require_subcommand(1);
  CLI::App* status =
      cache->add_subcommand("status", "What they hold, and what they saved");
  status->add_flag("--json", it.json, "print JSON");
  add_group(status, it);
  add_warm(*cache, it);
  CLI::App* drop = cache->add_subcommand(
      "drop", "Remove caches; jobs that use one go on with it");
  CLI::Option* names = drop->add_option("NAME", it.names, "as status has it");
  drop->add_flag("--all", it.all, "all of them")->excludes(names);
  add_group(drop, it);
}

Status run_cache_line(const CommandLine& line, Terminal& terminal,
                      std::ostream& errors) {
  const CLI::App& cache = *line.app.get_subcommand("cache");
  if (cache.got_subcommand("status")) {
    return run_cache_status(line.cache, terminal);
  }
  if (cache.got_subcommand("warm")) {
    return run_cache_warm(line.cache, terminal, errors);
  }
  return run_cache_drop(line.cache, terminal);
}

}  // namespace penstock
