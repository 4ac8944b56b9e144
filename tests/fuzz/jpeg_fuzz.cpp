// JPEGs: whatever is decoded as a whole can be decoded in part, with the same
// pixels, and resampled to values that pixels can have. The last bytes, which
// may lie behind the end marker, choose the part.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "loader/data/random.h"
#include "loader/picture/jpeg.h"
#include "loader/picture/resampler.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

namespace {

constexpr int kMaxPicturePixels = 1 << 16;  // a run is to try many pictures
constexpr int kOutSide = 9;

Crop part_of(ImageSize size, Random& random) {
  const auto below = [&](double bound) {
    return static_cast<double>(random.below(static_cast<uint64_t>(bound)));
  };
  Crop crop{below(size.width), below(size.height), 0, 0, false};
  crop.width = 1 + below(size.width - crop.x);
  crop.height = 1 + below(size.height - crop.y);
  crop.flip = random.uniform() < 0.5;
  return crop;
}

void check_values(const JpegPart& part) {
  std::vector<float> out(size_t{3} * kOutSide * kOutSide);
  Resampler(kOutSide).run(part.image, part.crop, out.data());
  for (const float value : out) FUZZ_CHECK(std::abs(value) < 2.7F);
}

void check_same(const JpegPart& part, const Crop& scaled,
                const ImageView& whole) {
  const int left = static_cast<int>(scaled.x - part.crop.x);
  const int top = static_cast<int>(scaled.y - part.crop.y);
  const int x = static_cast<int>(scaled.x);
  const int end = static_cast<int>(std::ceil(scaled.x + scaled.width));
  const double bottom = scaled.y + scaled.height;
  for (int y = static_cast<int>(scaled.y); y < bottom; ++y) {
    FUZZ_CHECK(std::equal(whole.row(y) + 3 * x, whole.row(y) + 3 * end,
                          part.image.row(y - top) + 3 * (x - left)));
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static JpegDecoder decoder;
  static JpegDecoder whole_decoder;
  const auto opened = decoder.open({data, size});
  if (!opened) {
    FUZZ_CHECK(opened.error().code == Code::kInvalidArgument);
    return 0;
  }
  FUZZ_CHECK(opened->width >= 1 && opened->width <= kMaxSidePixels);
  FUZZ_CHECK(opened->height >= 1 && opened->height <= kMaxSidePixels);
  if (opened->height > kMaxPicturePixels / opened->width) return 0;
  uint32_t seed = 0;
  std::memcpy(&seed, data + size - sizeof seed, sizeof seed);
  Random random(seed);
  const JpegScale scale{1 << random.below(4)};
  const Crop crop = part_of(*opened, random);
  const auto part = decoder.decode(crop, scale);
  if (part) check_values(*part);
  FUZZ_CHECK(whole_decoder.open({data, size}).ok());
  const auto whole = whole_decoder.decode(
      Crop{0, 0, double(opened->width), double(opened->height), false}, scale);
  if (!whole) {
    FUZZ_CHECK(whole.error().code == Code::kInvalidArgument);
    return 0;
  }
  FUZZ_CHECK(part.ok());
  const double by = scale.eighths / 8.0;
  check_same(*part, crop.scaled(by, by), whole->image);
  return 0;
}
