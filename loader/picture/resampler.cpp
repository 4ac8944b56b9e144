#include "loader/picture/resampler.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr float kMean[3] = {0.485f, 0.456f, 0.406f};
constexpr float kDeviation[3] = {0.229f, 0.224f, 0.225f};
constexpr float kSteps = 64.0f * 255.0f;  // the kernel's sum for white

}  // namespace

Resampler::Resampler(int out_side, const ResampleKernel& kernel)
    : out_side_(out_side), kernel_(kernel) {}

// Filters output rows y, y + 1, ... at the picture's columns, then transposes
// them, so that filter_columns() can also add whole vectors.
void Resampler::filter_rows(const ImageView& image, int y, int rows) {
  const auto left = static_cast<size_t>(horizontal_.touched_begin());
  const size_t count =
      3 * (static_cast<size_t>(horizontal_.touched_end()) - left);
  const size_t row_bytes = 3 * static_cast<size_t>(image.width);
  for (int i = 0; i < rows; ++i) {
    kernel_.down(image.row(vertical_.first(y + i)) + 3 * left, row_bytes,
                 vertical_.weights(y + i), vertical_.taps(), count,
                 rows_.data() + static_cast<size_t>(i) * stride_);
  }
  kernel_.turn(rows_.data(), stride_, stride_, columns_.data());
}

void Resampler::filter_columns(int y, int rows, float* out) {
  AcrossTask task{
      .columns = columns_.data(),
      .firsts = horizontal_.firsts(),
      .first_origin = horizontal_.touched_begin(),
      .weights = horizontal_.weights(0),
      .taps = horizontal_.taps(),
      .out_side = out_side_,
      .rows = rows,
      .out = out + static_cast<size_t>(y) * out_side_,
      .plane_count = static_cast<size_t>(out_side_) * out_side_,
  };
  for (size_t channel = 0; channel < 3; ++channel) {
    task.scale[channel] = 1.0f / (kSteps * kDeviation[channel]);
    task.offset[channel] = -kMean[channel] / kDeviation[channel];
  }
  kernel_.across(task);
}

void Resampler::run(const ImageView& image, const Crop& crop, float* out) {
  horizontal_.place(crop.x, crop.width, out_side_, crop.flip);
  vertical_.place(crop.y, crop.height, out_side_, false);
  const int columns = horizontal_.touched_end() - horizontal_.touched_begin();
  stride_ = (3 * static_cast<size_t>(columns) + 7) / 8 * 8;
  const size_t values = stride_ * static_cast<size_t>(kernel_.lanes);
  if (rows_.size() < values) {
    rows_.resize(values);
    columns_.resize(values);
  }
  for (int y = 0; y < out_side_; y += kernel_.lanes) {
    const int rows = std::min(kernel_.lanes, out_side_ - y);
    filter_rows(image, y, rows);
    filter_columns(y, rows, out);
  }
}

}  // namespace penstock
