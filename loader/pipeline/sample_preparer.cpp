#include "loader/pipeline/sample_preparer.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <string>

#include "common/clock.h"
#include "loader/data/file_reader.h"

namespace penstock {
namespace {

constexpr uint64_t kWaitSliceNs = 25000000;  // delay of a changed rate

// False: stopping() returned true first.
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

SamplePreparer::SamplePreparer(const Dataset& dataset, const Options& options,
                               TokenBucket& bucket)
    : dataset_(dataset),
      crop_side_(options.crop_side),
      augment_(options.augment),
      share_bytes_(options.most_bytes / 3),
      bucket_(bucket),
      reader_(dataset.new_reader(options.read_mode)),
      pictures_(share_bytes_),
      decoder_(pictures_.buffer(), share_bytes_),
      resampler_(options.crop_side) {}

Result<std::span<const uint8_t>> SamplePreparer::fetch(
    uint64_t index, SampleSource source,
    const std::function<bool()>& stopping) {
  auto size_bytes = reader_->open(index, source);
  if (!size_bytes) return std::move(size_bytes).error();
  // The reader reads whole blocks: up to two blocks more than the sample.
  if (*size_bytes > share_bytes_ ||
      share_bytes_ - *size_bytes < 2 * FileReader::kAlignmentBytes) {
    return Error{Code::kLimit, 0,
                 dataset_.name(index) + ": " + std::to_string(*size_bytes) +
                     " bytes; the memory bound leaves " +
                     std::to_string(share_bytes_)};
  }
  if (!reader_->is_cached() &&
      !wait_for_bandwidth(bucket_, *size_bytes, stopping)) {
    return Error{Code::kUnavailable, 0,
                 dataset_.name(index) + ": not read, as the job ends"};
  }
  return reader_->read();
}

Crop SamplePreparer::crop_of(ImageSize size, uint64_t seed) const {
  if (augment_ == Augment::kCentre) return centre_square(size);
  Random random(seed);
  return random_crop(size, random);
}

// Checks the size of a JPEG decoded at that scale.
Status SamplePreparer::check_share(ImageSize size, JpegScale scale) const {
  const auto scaled = [&](int side) {
    return (static_cast<uint64_t>(side) * static_cast<uint64_t>(scale.eighths) +
            7) /
           8;
  };
  const uint64_t bytes = 3 * scaled(size.width) * scaled(size.height);
  if (bytes <= share_bytes_) return Done{};
  return Error{Code::kLimit, 0,
               "JPEG: takes " + std::to_string(bytes) +
                   " bytes when decoded; the memory bound leaves " +
                   std::to_string(share_bytes_)};
}

Status SamplePreparer::prepare_jpeg(std::span<const uint8_t> file,
                                    uint64_t seed, float* out) {
  auto size = decoder_.open(file);
  if (!size) return std::move(size).error();
  const Crop crop = crop_of(*size, seed);
  const JpegScale scale = choose_scale(crop.width, crop.height, crop_side_);
  auto fits = check_share(*size, scale);
  if (!fits) return fits;
  auto part = decoder_.decode(crop, scale);
  if (!part) return std::move(part).error();
  resampler_.run(part->image, part->crop, out);
  return Done{};
}

Status SamplePreparer::prepare_picture(std::span<const uint8_t> file,
                                       uint64_t seed, float* out) {
  const auto format = picture_format(file);
  if (!format) return format.error();
  if (*format == PictureFormat::kJpeg) return prepare_jpeg(file, seed, out);
  auto image = pictures_.decode(*format, file);
  if (!image) return std::move(image).error();
  const Crop crop = crop_of({image->width, image->height}, seed);
  resampler_.run(*image, crop, out);
  return Done{};
}

Status SamplePreparer::prepare_tensor(std::span<const uint8_t> bytes,
                                      float* out) {
  if (bytes.size() != dataset_.tensor_bytes()) {
    return invalid("a tensor of " + std::to_string(bytes.size()) +
                   " bytes; the dataset's have " +
                   std::to_string(dataset_.tensor_bytes()));
  }
  std::copy(bytes.begin(), bytes.end(), out);
  return Done{};
}

Status SamplePreparer::prepare_bytes(std::span<const uint8_t> bytes,
                                     uint64_t seed, float* out) {
  try {
    return dataset_.tensor_bytes() > 0 ? prepare_tensor(bytes, out)
                                       : prepare_picture(bytes, seed, out);
  } catch (const std::bad_alloc&) {
    return Error{Code::kLimit, ENOMEM, "no memory to decode it"};
  }
}

Status SamplePreparer::prepare(uint64_t index, uint64_t seed,
                               SampleSource source,
                               const std::function<bool()>& stopping,
                               float* out, SampleFacts& facts) {
  facts = SampleFacts{};
  const uint64_t begin_ns = monotonic_ns();
  auto file = fetch(index, source, stopping);
  const uint64_t fetched_ns = monotonic_ns();
  LoaderCounters& counted = facts.counted;
  counted.fetch_ns = fetched_ns - begin_ns;
  if (!file) return std::move(file).error();
  if (reader_->is_cached()) {
    counted.cached = 1;
    counted.cached_bytes = file->size();
  } else {
    counted.bytes = file->size();
  }
  if (reader_->is_from_peer()) {
    counted.peer = 1;
    counted.peer_bytes = counted.cached_bytes;
  }
  facts.label = reader_->label();
  if (facts.label == kNoLabel) facts.label = dataset_.label(index);
  Status prepared = prepare_bytes(*file, seed, out);
  counted.prep_ns = monotonic_ns() - fetched_ns;
  if (!prepared) return std::move(prepared).error().wrap(dataset_.name(index));
  return Done{};
}

}  // namespace penstock
