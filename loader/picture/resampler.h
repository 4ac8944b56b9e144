// Resamples a part of a picture to a normalised square.
#pragma once

#include <cstdint>
#include <vector>

#include "loader/picture/augment.h"
#include "loader/picture/filter.h"
#include "loader/picture/image.h"
#include "loader/picture/resample_kernel.h"

namespace penstock {

// Resamples a crop to a square with the antialiased triangle filter of Pillow
// and torchvision, and normalises it with ImageNet's mean and standard
// deviation. One per thread; its buffers are reused.
//
// Error: intermediate values are not rounded to whole pixel values. An output
// is within (taps of a row + taps of a column + 1) / 64 of a pixel value's step
// of the exact result. Taps are twice the reduction, rounded up, at least 2.
// The bits do not depend on the machine.
class Resampler {
 public:
  // out_side: pixels along the square's side, >= 1.
  explicit Resampler(int out_side,
                     const ResampleKernel& kernel = best_kernel());

  // Writes 3 x out_side x out_side floats (channel, row, column).
  // REQUIRES: the crop lies inside the picture; it may have fractional pixels.
  void run(const ImageView& image, const Crop& crop, float* out);

 private:
  void filter_rows(const ImageView& image, int y, int rows);
  void filter_columns(int y, int rows, float* out);

  int out_side_;
  const ResampleKernel& kernel_;
  Filter horizontal_;
  Filter vertical_;
  size_t stride_ = 0;             // of rows_
  std::vector<int16_t> rows_;     // a block's, with the picture's columns
  std::vector<int16_t> columns_;  // the same, transposed
};

}  // namespace penstock
