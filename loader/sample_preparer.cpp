#include "loader/sample_preparer.h"

#include <algorithm>

#include "loader/clock.h"
#include "loader/ppm.h"

namespace penstock {
namespace {

constexpr uint64_t kWaitSliceNs = 50000000;  // a changed rate is seen in 50 ms

// False when stopping() came first.
bool wait_for_bandwidth(TokenBucket& bucket, uint64_t bytes,
                        const std::function<bool()>& stopping) {
  while (const uint64_t wait_ns = bucket.take(bytes, monotonic_ns())) {
    if (stopping()) return false;
    const timespec slice{0, static_cast<long>(std::min(wait_ns, kWaitSliceNs))};
    nanosleep(&slice, nullptr);
  }
  return true;
}

}  // namespace

SamplePreparer::SamplePreparer(const Dataset& dataset, ReadMode mode,
                               int crop_side, TokenBucket& bucket)
    : dataset_(dataset),
      crop_side_(crop_side),
      bucket_(bucket),
      mode_(mode),
      resampler_(crop_side) {}

Result<std::span<const uint8_t>> SamplePreparer::fetch(
    const std::string& path, SampleSource source,
    const std::function<bool()>& stopping) {
  const bool from_memory = source == SampleSource::kMemory;
  auto size_bytes =
      reader_.open(path, from_memory ? ReadMode::kBuffered : mode_);
  if (!size_bytes) return std::move(size_bytes).error();
  if (source == SampleSource::kStorage) reader_.drop_cached();
  if (!wait_for_bandwidth(bucket_, *size_bytes, stopping)) {
    return Error{Code::kUnavailable, 0, path + ": not read, as the job ends"};
  }
  return reader_.read();
}

Status SamplePreparer::prepare_jpeg(std::span<const uint8_t> file,
                                    uint64_t seed, float* out) {
  auto size = decoder_.open(file);
  if (!size) return std::move(size).error();
  Random random(seed);
  const Crop crop = random_crop(*size, random);
  auto part =
      decoder_.decode(crop, choose_scale(crop.width, crop.height, crop_side_));
  if (!part) return std::move(part).error();
  resampler_.run(part->image, part->crop, out);
  return Done{};
}

Status SamplePreparer::prepare_raw(std::span<const uint8_t> file, uint64_t seed,
                                   float* out) {
  auto image = parse_ppm(file);
  if (!image) return std::move(image).error();
  Random random(seed);
  const Crop crop = random_crop({image->width, image->height}, random);
  resampler_.run(*image, crop, out);
  return Done{};
}

Status SamplePreparer::prepare(uint64_t index, uint64_t seed,
                               SampleSource source,
                               const std::function<bool()>& stopping,
                               float* out, SampleCost& cost) {
  const std::string& path = dataset_.paths[index];
  cost = SampleCost{};
  const uint64_t begin_ns = monotonic_ns();
  auto file = fetch(path, source, stopping);
  const uint64_t fetched_ns = monotonic_ns();
  cost.fetch_ns = fetched_ns - begin_ns;
  if (!file) return std::move(file).error();
  cost.bytes = file->size();
  Status prepared = dataset_.format == SampleFormat::kRaw
                        ? prepare_raw(*file, seed, out)
                        : prepare_jpeg(*file, seed, out);
  cost.prep_ns = monotonic_ns() - fetched_ns;
  if (!prepared) return std::move(prepared).error().wrap(path);
  return Done{};
}

}  // namespace penstock
