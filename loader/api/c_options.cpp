#include "loader/api/c_options.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

namespace penstock {
namespace {

Status check_peers(const penstock_loader_options& options) {
  if (options.cache_peers == nullptr) return Done{};
  if (options.cache_peers[0] == '\0') {
    return invalid(
        "options: cache_peers is empty; allowed: \"auto\", nodes as Slurm "
        "lists "
        "them, or null");
  }
  if (options.cache_bytes > 0) return Done{};
  return invalid("options: cache_peers without a cache; give cache_bytes");
}

// A share gives each job all samples, one batch at a time, from the start of an
// epoch, so options for anything else are refused.
Status check_share(const penstock_loader_options& options) {
  if (options.share == nullptr) return Done{};
  const std::array<std::pair<const char*, bool>, 7> others = {{
      {"ranks and rank", options.ranks > 1 || options.rank > 0},
      {"drop_tail", options.drop_tail != 0},
      {"unordered", options.unordered != 0},
      {"pinned", options.pinned != 0},
      {"ring_batches", options.ring_batches > 0},
      {"memory_bytes", options.memory_bytes > 0},
      {"from", options.from != nullptr},
  }};
  for (const auto& [name, is_set] : others) {
    if (is_set) {
      return invalid("options: " + std::string(name) +
                     ": a share has none; leave it 0, or share null");
    }
  }
  return Done{};
}

}  // namespace

Result<penstock_loader_options> known_options(
    const penstock_loader_options* given) {
  penstock_loader_options options{};
  if (given == nullptr ||
      given->size < offsetof(penstock_loader_options, record_bytes)) {
    return invalid("options: null, or their size is not set");
  }
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof options; i < given->size; ++i) {
    if (bytes[i] != 0) {
      return invalid("options: some are of a newer libpenstock_loader");
    }
  }
  std::memcpy(&options, given, std::min(sizeof options, given->size));
  if (options.augment > PENSTOCK_AUGMENT_CENTRE) {
    return invalid(
        "options: augment: allowed: PENSTOCK_AUGMENT_RANDOM (0), "
        "PENSTOCK_AUGMENT_CENTRE (1)");
  }
  if (options.cache_keep_s > kLongestCacheKeep_s) {
    return invalid("options: cache_keep_s: allowed: 0 to " +
                   std::to_string(kLongestCacheKeep_s));
  }
  if (options.reserved != 0) return invalid("options: reserved is not 0");
  if (Status good = check_peers(options); !good) return std::move(good).error();
  if (Status good = check_share(options); !good) return std::move(good).error();
  return options;
}

Result<std::shared_ptr<const Dataset>> data_of(
    const penstock_loader_options& options) {
  std::vector<std::string> paths;
  for (size_t i = 0; i < options.path_count; ++i) {
    if (options.paths == nullptr || options.paths[i] == nullptr) {
      return invalid("options: a path is null");
    }
    paths.emplace_back(options.paths[i]);
  }
  std::optional<RecordLayout> records;
  if (options.record_bytes > 0 || options.record_label_bytes > 0 ||
      options.record_header_bytes > 0) {
    records = {options.record_bytes, options.record_label_bytes,
               options.record_header_bytes};
  }
  return open_dataset(paths, records);
}

JobLoaderOptions job_options_of(const penstock_loader_options& given) {
  JobLoaderOptions options;
  PipelineOptions& pipeline = options.pipeline;
  if (given.batch_samples > 0) pipeline.batch_samples = given.batch_samples;
  if (given.crop_side > 0) {
    pipeline.crop_side =
        static_cast<int>(std::min<uint64_t>(given.crop_side, INT32_MAX));
  }
  if (given.augment == PENSTOCK_AUGMENT_CENTRE) {
    pipeline.augment = Augment::kCentre;
  }
  pipeline.seed = given.seed;
  pipeline.shuffle = given.sequential == 0;
  if (given.ranks > 0) pipeline.ranks = given.ranks;
  pipeline.rank = given.rank;
  if (given.drop_tail != 0) pipeline.tail = EpochTail::kDrop;
  if (given.broken_fatal != 0) pipeline.broken = BrokenSamples::kFatal;
  pipeline.is_ordered = given.unordered == 0;
  if (given.direct != 0) pipeline.read_mode = ReadMode::kDirect;
  pipeline.pinned = given.pinned != 0;
  if (given.ring_batches > 0) pipeline.ring_batches = given.ring_batches;
  pipeline.memory_bytes = given.memory_bytes;
  if (given.from != nullptr) {
    const penstock_loader_state& from = *given.from;
    pipeline.from = {from.count, from.seed, from.sequential == 0, from.epoch,
                     from.position};
  }
  options.threads = given.threads;
  if (given.broken != nullptr) {
    options.broken = [call = given.broken,
                      context = given.broken_context](const std::string& why) {
      call(context, why.c_str());
    };
  }
  return options;
}

SampleCacheOptions cache_of(const penstock_loader_options& given) {
  SampleCacheOptions options;
  if (given.cache_name != nullptr) options.name = given.cache_name;
  if (given.cache_bytes != UINT64_MAX) options.most_bytes = given.cache_bytes;
  options.keep_s = given.cache_keep_s;
  return options;
}

std::string peers_of(const penstock_loader_options& given) {
  return given.cache_peers != nullptr ? given.cache_peers : "";
}

std::optional<JobShare> share_of(const penstock_loader_options& given) {
  if (given.share == nullptr) return std::nullopt;
  JobShare share{.name = given.share};
  if (given.share_jobs > 0) share.jobs = given.share_jobs;
  if (given.share_window > 0) {
    share.window_batches = static_cast<uint32_t>(
        std::min<uint64_t>(given.share_window, UINT32_MAX));
  }
  return share;
}

}  // namespace penstock
