// Implements penstock/loader.h. No exception leaves these functions.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>

#include "loader/api/asked_cache.h"
#include "loader/api/c_options.h"
#include "loader/api/errno_of.h"
#include "loader/api/job_loader.h"
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

// Calls the function; an exception becomes an errno value and a message.
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

int open(const penstock_loader_options* given, penstock_loader** loader) {
  const auto options = known_options(given);
  if (!options) return fail(options.error());
  auto made = std::make_unique<penstock_loader>();
  auto dataset = data_of(*options);
  if (dataset && options->cache_bytes > 0) {
    dataset = made->cache.put_before(*std::move(dataset), cache_of(*options),
                                     peers_of(*options));
  }
  if (!dataset) return fail(dataset.error());
  const auto share = share_of(*options);
  auto opened =
      share ? JobLoader::join(*std::move(dataset), *share,
                              job_options_of(*options))
            : JobLoader::open(*std::move(dataset), job_options_of(*options));
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
    if (loader.is_shared()) {
      return fail(EDEADLK,
                  "one batch of a share is in use at a time; release it");
    }
    return fail(EDEADLK,
                "no batch can be prepared before the oldest one that is in use "
                "is released; release it, or set ring_batches higher");
  }
  const Batch& batch = **taken;
  // The caller may write to a pipeline's batch until it releases it.
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

// Sets only the fields that the caller's version of the struct has.
int get_cached(const LoaderCounters& now, penstock_loader_cached& out) {
  if (out.size < offsetof(penstock_loader_cached, peer_samples)) {
    return fail(EINVAL, "the size of penstock_loader_cached is not set");
  }
  const penstock_loader_cached cached = {out.size, now.cached, now.cached_bytes,
                                         now.peer, now.peer_bytes};
  std::memcpy(&out, &cached, std::min(sizeof cached, out.size));
  return 0;
}

int get_shared(JobLoader& loader, penstock_loader_shared& out) {
  if (out.size < sizeof out) {
    return fail(EINVAL, "the size of penstock_loader_shared is not set");
  }
  if (!loader.is_shared()) return fail(ENOTSUP, "the loader is of no share");
  const ShareCounters now = loader.share();
  out = {out.size,        loader.epoch(), now.used_batches,
         now.lost_claims, now.times_out,  now.alone_batches};
  return 0;
}

int null_argument() { return fail(EINVAL, "an argument is a null pointer"); }

// guarded() for what only the process that opened the loader may ask of it.
// out: where the answer goes.
template <class Function>
int answered(penstock_loader* loader, const void* out, Function&& function) {
  if (loader == nullptr || out == nullptr) return null_argument();
  return guarded([&] {
    if (loader->loader->is_forked()) {
      return fail(ECHILD, "the loader is another process's, which was forked");
    }
    return function(*loader->loader);
  });
}

}  // namespace
}  // namespace penstock

using penstock::answered;
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
  return answered(loader, state, [&](penstock::JobLoader& own) {
    if (own.is_shared()) {
      return fail(ENOTSUP, "a share's loader has no state to go on from");
    }
    const penstock::SamplerState now = own.state();
    *state = {now.count, now.seed,  now.shuffle ? 0u : 1u,
              0,         now.epoch, now.position};
    return 0;
  });
}

int penstock_loader_get_counters(penstock_loader* loader,
                                 penstock_loader_counters* counters) {
  return answered(loader, counters, [&](const penstock::JobLoader& own) {
    const penstock::LoaderCounters now = own.counters();
    *counters = {now.prepared, now.broken, now.bytes,  now.fetch_ns,
                 now.prep_ns,  now.cpu_ns, now.threads};
    return 0;
  });
}

int penstock_loader_get_cached(penstock_loader* loader,
                               penstock_loader_cached* cached) {
  return answered(loader, cached, [&](const penstock::JobLoader& own) {
    return penstock::get_cached(own.counters(), *cached);
  });
}

int penstock_loader_get_shared(penstock_loader* loader,
                               penstock_loader_shared* shared) {
  return answered(loader, shared, [&](penstock::JobLoader& own) {
    return penstock::get_shared(own, *shared);
  });
}

int penstock_loader_check_cache(penstock_loader* loader) {
  return answered(loader, loader, [&](const penstock::JobLoader& /*own*/) {
    const auto trouble = loader->cache.trouble();
    return trouble ? fail(*trouble) : 0;
  });
}

int penstock_loader_check_pinned(penstock_loader* loader) {
  return answered(loader, loader, [](penstock::JobLoader& own) {
    if (own.is_shared()) return 0;  // a share pins nothing
    const std::string refusal = own.pin_refusal();
    return refusal.empty() ? 0 : fail(ENOTSUP, refusal.c_str());
  });
}

void penstock_loader_close(penstock_loader* loader) { delete loader; }

const char* penstock_loader_error(void) { return penstock::last_error.data(); }

}  // extern "C"
