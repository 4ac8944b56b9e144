#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>

#include "loader/penstock_link.h"
#include "penstock/loader/loader.h"
#include "penstock/loader/pipeline.h"

using penstock::Code;

struct penstock_dataset {
  std::shared_ptr<const penstock::Dataset> dataset;
};

struct penstock_loader {
  std::unique_ptr<penstock::Pipeline> pipeline;
};

namespace {

thread_local char last_error[512] = "";

int fail(int number, const char* message) {
  std::snprintf(last_error, sizeof last_error, "%s", message);
  return number;
}

int errno_of(Code code) {
  switch (code) {
    case Code::kNotFound:
      return ENOENT;
    case Code::kPermissionDenied:
      return EACCES;
    case Code::kLimit:
      return ENOMEM;
    case Code::kUnavailable:
      return ENOTSUP;
    case Code::kIo:
      return EIO;
    default:
      return EINVAL;
  }
}

int fail(const penstock::Error& error) {
  return fail(errno_of(error.code), error.message.c_str());
}

// No exception may leave a C function.
template <class Call>
int guard(Call call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM, "no memory");
  } catch (const std::exception& error) {
    return fail(EIO, error.what());
  }
}

penstock::PipelineOptions options_of(const penstock_loader_options& from) {
  penstock::PipelineOptions to;
  to.batch_samples = from.batch_samples;
  to.crop_side = from.crop_side;
  to.seed = from.seed;
  to.shuffle = from.shuffle != 0;
  to.ranks = from.ranks;
  to.rank = from.rank;
  if (from.drop_tail) to.tail = penstock::EpochTail::kDrop;
  if (from.from != nullptr) {
    to.from = penstock::SamplerState{from.from->count, from.from->seed,
                                     from.from->shuffle != 0, from.from->epoch,
                                     from.from->position};
  }
  to.total_samples = from.total_samples;
  to.spans_epochs = from.spans_epochs != 0;
  to.is_ordered = from.is_ordered != 0;
  if (from.broken_is_fatal) to.broken = penstock::BrokenSamples::kFatal;
  if (from.is_direct) to.read_mode = penstock::ReadMode::kDirect;
  to.memory_bytes = from.memory_bytes;
  to.threads = from.threads;
  to.threads_max = from.threads_max;
  to.elastic = from.elastic != 0;
  return to;
}

}  // namespace

const char* penstock_loader_error() { return last_error; }

int penstock_dataset_open(const char* const* paths, size_t count,
                          const penstock_records* records,
                          penstock_dataset** dataset) {
  return guard([&] {
    std::optional<penstock::RecordLayout> layout;
    if (records != nullptr) {
      layout = {records->record_bytes, records->label_bytes,
                records->header_bytes};
    }
    auto opened = penstock::open_dataset({paths, paths + count}, layout);
    if (!opened) return fail(opened.error());
    *dataset = new penstock_dataset{*std::move(opened)};
    return 0;
  });
}

uint64_t penstock_dataset_size(const penstock_dataset* dataset) {
  return dataset->dataset->size();
}

void penstock_dataset_close(penstock_dataset* dataset) { delete dataset; }

void penstock_loader_defaults(penstock_loader_options* options) {
  const penstock::PipelineOptions from;
  *options = {};
  options->batch_samples = from.batch_samples;
  options->crop_side = from.crop_side;
  options->ranks = from.ranks;
  options->total_samples = from.total_samples;
  options->threads = from.threads;
  options->threads_max = from.threads_max;
  options->shuffle = 1;
  options->is_ordered = 1;
}

int penstock_loader_create(const penstock_dataset* dataset,
                           const penstock_loader_options* options,
                           penstock_loader** loader) {
  return guard([&] {
    auto created = penstock::Pipeline::create(
        dataset->dataset, options_of(*options),
        options->handle ? penstock::penstock_link(options->handle)
                        : penstock::PipelineLink());
    if (!created) return fail(created.error());
    *loader = new penstock_loader{*std::move(created)};
    return 0;
  });
}

void penstock_loader_destroy(penstock_loader* loader) { delete loader; }

int penstock_loader_next(penstock_loader* loader, uint64_t timeout_ns,
                         penstock_batch* batch) {
  return guard([&] {
    const auto next = loader->pipeline->next(timeout_ns);
    if (!next) return fail(next.error());
    if (*next) {
      *batch = {(*next)->data,
                (*next)->labels,
                (*next)->indices,
                (*next)->size,
                (*next)->sample_floats,
                (*next)->number,
                (*next)->ends_epoch ? 1u : 0u};
      return 0;
    }
    return loader->pipeline->finished()
               ? fail(ENODATA, "the stream is at its end")
               : fail(ETIMEDOUT, "no batch yet");
  });
}

void penstock_loader_release(penstock_loader* loader,
                             const penstock_batch* batch) {
  penstock::Batch released;
  released.number = batch->number;
  loader->pipeline->release(released);
}

void penstock_loader_get_state(const penstock_loader* loader,
                               penstock_loader_state* state) {
  const penstock::SamplerState now = loader->pipeline->state();
  *state = {now.count, now.seed, now.epoch, now.position,
            now.shuffle ? 1u : 0u};
}

uint64_t penstock_loader_samples_per_epoch(const penstock_loader* loader) {
  return loader->pipeline->samples_per_epoch();
}

void penstock_loader_get_counters(const penstock_loader* loader,
                                  penstock_loader_counters* counters) {
  const penstock::PipelineCounters now = loader->pipeline->counters();
  *counters = {now.prepared, now.broken, now.bytes,  now.fetch_ns,
               now.prep_ns,  now.cpu_ns, now.threads};
}
