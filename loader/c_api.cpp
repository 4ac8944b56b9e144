// penstock/loader.h. Nothing is thrown out of here.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>

#include "loader/asked_cache.h"
#include "loader/errno_of.h"
#include "loader/job_loader.h"
#include "penstock/loader.h"

struct penstock_loader {
  penstock::AskedCache cache;
  std::unique_ptr<penstock::JobLoader> loader;
};

namespace penstock {
namespace {

thread_local std::array<char, 1024> last_error{};

int fail(int error, const char* why) {
  const size_t size = std::min(std::strlen(why), last_error.size() - 1);
  std::memcpy(last_error.data(), why, size);
  last_error[size] = '\0';
  return error;
}

int fail(const Error& error) {
  return fail(errno_of(error), error.message.c_str());
}

// Calls what may throw.
template <class Function>
int guarded(Function&& function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM, "no memory");
  } catch (const std::exception& error) {
    return fail(EIO, error.what());
  }
}

// An older program's options end earlier, a newer one's must not say more than
// is known here.
Result<penstock_loader_options> known(const penstock_loader_options* given) {
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

JobLoaderOptions options_of(const penstock_loader_options& given) {
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

int open(const penstock_loader_options* given, penstock_loader** loader) {
  const auto options = known(given);
  if (!options) return fail(options.error());
  auto made = std::make_unique<penstock_loader>();
  auto dataset = data_of(*options);
  if (dataset && options->cache_bytes > 0) {
    dataset = made->cache.put_before(*std::move(dataset), cache_of(*options));
  }
  if (!dataset) return fail(dataset.error());
  auto opened = JobLoader::open(*std::move(dataset), options_of(*options));
  if (!opened) return fail(opened.error());
  made->loader = *std::move(opened);
  *loader = made.release();
  return 0;
}

int next(JobLoader& loader, uint64_t timeout_ns, penstock_loader_batch& out) {
  const auto taken = loader.next(timeout_ns);
  if (!taken) return fail(taken.error());
  if (!*taken) {
    if (!loader.is_held_up()) return fail(ETIMEDOUT, "no batch is ready yet");
    return fail(EDEADLK,
                "no batch can be prepared before the oldest one that is in use "
                "is released; release it, or set ring_batches higher");
  }
  const Batch& batch = **taken;
  // The ring's memory is the caller's as long as the batch is.
  out = {const_cast<float*>(batch.data),
         batch.labels,
         batch.indices,
         batch.size,
         batch.sample_floats,
         batch.number,
         batch.ends_epoch ? 1 : 0,
         batch.is_pinned ? 1 : 0};
  return 0;
}

int null_argument() { return fail(EINVAL, "an argument is a null pointer"); }

int forked() {
  return fail(ECHILD, "the loader is another process's, which was forked");
}

}  // namespace
}  // namespace penstock

using penstock::fail;
using penstock::guarded;
using penstock::null_argument;

extern "C" {

int penstock_loader_open(const penstock_loader_options* options,
                         penstock_loader** loader) {
  if (loader == nullptr) return null_argument();
  *loader = nullptr;
  return guarded([&] { return penstock::open(options, loader); });
}

int penstock_loader_next(penstock_loader* loader, uint64_t timeout_ns,
                         penstock_loader_batch* batch) {
  if (loader == nullptr || batch == nullptr) return null_argument();
  return guarded(
      [&] { return penstock::next(*loader->loader, timeout_ns, *batch); });
}

int penstock_loader_release(penstock_loader* loader,
                            const penstock_loader_batch* batch) {
  if (loader == nullptr || batch == nullptr) return null_argument();
  return guarded([&] {
    penstock::Batch released_batch;
    released_batch.number = batch->number;
    released_batch.data = batch->data;
    const auto released = loader->loader->release(released_batch);
    return released ? 0 : fail(released.error());
  });
}

int penstock_loader_get_state(penstock_loader* loader,
                              penstock_loader_state* state) {
  if (loader == nullptr || state == nullptr) return null_argument();
  return guarded([&] {
    if (loader->loader->is_forked()) return penstock::forked();
    const penstock::SamplerState now = loader->loader->state();
    *state = {now.count, now.seed,  now.shuffle ? 0u : 1u,
              0,         now.epoch, now.position};
    return 0;
  });
}

int penstock_loader_get_counters(penstock_loader* loader,
                                 penstock_loader_counters* counters) {
  if (loader == nullptr || counters == nullptr) return null_argument();
  if (loader->loader->is_forked()) return penstock::forked();
  const penstock::LoaderCounters now = loader->loader->counters();
  *counters = {now.prepared, now.broken, now.bytes,  now.fetch_ns,
               now.prep_ns,  now.cpu_ns, now.threads};
  return 0;
}

int penstock_loader_get_cached(penstock_loader* loader,
                               penstock_loader_cached* cached) {
  if (loader == nullptr || cached == nullptr) return null_argument();
  if (loader->loader->is_forked()) return penstock::forked();
  if (cached->size < sizeof *cached) {
    return fail(EINVAL, "the size of penstock_loader_cached is not set");
  }
  const penstock::LoaderCounters now = loader->loader->counters();
  cached->samples = now.cached;
  cached->bytes = now.cached_bytes;
  return 0;
}

int penstock_loader_check_cache(penstock_loader* loader) {
  if (loader == nullptr) return null_argument();
  return guarded([&] {
    if (loader->loader->is_forked()) return penstock::forked();
    const auto trouble = loader->cache.trouble();
    return trouble ? fail(*trouble) : 0;
  });
}

int penstock_loader_check_pinned(penstock_loader* loader) {
  if (loader == nullptr) return null_argument();
  return guarded([&] {
    if (loader->loader->is_forked()) return penstock::forked();
    const std::string refusal = loader->loader->pin_refusal();
    return refusal.empty() ? 0 : fail(ENOTSUP, refusal.c_str());
  });
}

void penstock_loader_close(penstock_loader* loader) { delete loader; }

const char* penstock_loader_error(void) { return penstock::last_error.data(); }

}  // extern "C"
