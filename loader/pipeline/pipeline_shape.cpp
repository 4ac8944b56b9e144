#include "loader/pipeline/pipeline_shape.h"

#include <algorithm>
#include <cerrno>
#include <string>

#include "common/units.h"

namespace penstock {
namespace {

constexpr size_t kMaxThreads = 4096;
constexpr uint64_t kMaxRingBytes = uint64_t{64} << 30;
constexpr uint64_t kLeastThreadBytes = 1 << 20;
// For elastic threads. Their maximum may be the machine's number of CPUs: with
// equal shares, that number would decide which samples are too large.
constexpr uint64_t kGoodThreadBytes = 16 << 20;
constexpr uint64_t kMostShares = 16;

Status check(const PipelineOptions& options) {
  if (Status good = check_batch(options); !good) return good;
  if (options.threads_min < 1 || options.threads_max > kMaxThreads ||
      options.threads < options.threads_min ||
      options.threads > options.threads_max) {
    return invalid(
        "threads: allowed: 1 <= minimum <= threads <= maximum <= 4096");
  }
  if (options.ring_batches < 1 || options.ring_batches > 1024) {
    return invalid("ring: allowed: 1 to 1024 batches");
  }
  if (options.total_samples < 1) return invalid("samples: allowed: 1 or more");
  return Done{};
}

// Sets the threads' shares of the memory that the ring leaves, independent of
// the machine's number of CPUs.
void share_elastic(const PipelineOptions& options, uint64_t batch_bytes,
                   PipelineShape& shape) {
  const uint64_t ring_bytes =
      std::max(2 * batch_bytes, options.memory_bytes / 2);
  const uint64_t room_bytes =
      options.memory_bytes - std::min(ring_bytes, options.memory_bytes);
  shape.thread_bytes =
      std::max(std::min(std::max(room_bytes / kMostShares, kGoodThreadBytes),
                        room_bytes / options.threads_min),
               kLeastThreadBytes);
  shape.threads_max = static_cast<size_t>(
      std::clamp<uint64_t>(room_bytes / shape.thread_bytes, options.threads_min,
                           options.threads_max));
}

std::string text_of(uint64_t bytes) {
  return format_bytes(static_cast<double>(bytes));
}

// The ring gets the memory above the threads' minimum, up to half of all, and
// the threads get the rest.
Status share(uint64_t memory_bytes, uint64_t batch_bytes, uint64_t threads,
             PipelineShape& shape) {
  const uint64_t least = 2 * batch_bytes + threads * kLeastThreadBytes;
  if (memory_bytes < least) {
    return Error{Code::kLimit, ENOMEM,
                 "memory: " + text_of(memory_bytes) +
                     " hold no two batches and 1 MB for each of " +
                     std::to_string(threads) + " threads, which take " +
                     text_of(least) +
                     "; a smaller batch or crop, or fewer threads, take less"};
  }
  const uint64_t for_ring = std::max(
      2 * batch_bytes,
      std::min(memory_bytes - threads * kLeastThreadBytes, memory_bytes / 2));
  shape.ring.batches = static_cast<size_t>(std::clamp<uint64_t>(
      for_ring / batch_bytes, 2, std::max<size_t>(2, shape.ring.batches)));
  shape.thread_bytes =
      std::min(shape.thread_bytes,
               (memory_bytes - shape.ring.batches * batch_bytes) / threads);
  return Done{};
}

}  // namespace

Status check_batch(const BatchOptions& options) {
  if (options.batch_samples < 1 || options.batch_samples > 65536) {
    return invalid("batch: allowed: 1 to 65536");
  }
  if (options.crop_side < 1 || options.crop_side > 4096) {
    return invalid("crop: allowed: 1 to 4096");
  }
  return Done{};
}

uint64_t floats_per_sample(uint64_t tensor_bytes, int crop_side) {
  const auto side = static_cast<uint64_t>(crop_side);
  return tensor_bytes > 0 ? tensor_bytes : 3 * side * side;
}

Result<PipelineShape> pipeline_shape(const PipelineOptions& options,
                                     uint64_t sample_floats,
                                     const BatchPlan::Shape& plan) {
  auto checked = check(options);
  if (!checked) return std::move(checked).error();
  const uint64_t sample_bytes =
      sample_floats * sizeof(float) + sizeof(int64_t) + sizeof(uint64_t) + 1;
  const uint64_t batch_bytes = options.batch_samples * sample_bytes;
  PipelineShape shape;
  shape.threads_max = options.threads_max;
  if (options.memory_bytes > 0 && options.elastic) {
    share_elastic(options, batch_bytes, shape);
  }
  // At least ring_batches, and two places per thread: with small batches
  // threads would be left without work.
  const size_t for_threads =
      (2 * shape.threads_max + options.batch_samples - 1) /
      options.batch_samples;
  shape.ring = {std::max(options.ring_batches, for_threads), sample_floats,
                plan, options.is_ordered};
  if (options.memory_bytes > 0) {
    auto shared =
        share(options.memory_bytes, batch_bytes, shape.threads_max, shape);
    if (!shared) return std::move(shared).error();
  }
  const uint64_t ring_bytes = shape.ring.batches * batch_bytes;
  if (ring_bytes > kMaxRingBytes) {
    return invalid("the ring of batches needs " + text_of(ring_bytes) +
                   "; allowed: 64 GB; a smaller batch or crop needs less");
  }
  return shape;
}

}  // namespace penstock
