// The resampler's inner loops, compiled for the baseline CPU and for AVX2. Both
// give the same bits: sums are integers, and the final float step multiplies
// and adds separately (no FMA).
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// Up to this number of taps, sums have 16 bits and each product is rounded to
// 1/64 of a pixel value's step. Above it, sums have 32 bits and are rounded
// once.
inline constexpr int kMaxShortTaps = 16;

// A block of output rows.
struct AcrossTask {
  const int16_t* columns;  // turn()'s output
  const int* firsts;       // first pixel of each output x
  int first_origin;        // the pixel of the first column
  const int16_t* weights;  // `taps` for each output x
  int taps;
  int out_side;
  int rows;  // number of the block's rows to write
  // Per channel: output = sum * scale + offset. sum is the weighted mean of the
  // pixels, in units of 1/64 of a pixel value's step.
  float scale[3];
  float offset[3];
  float* out;          // the block's first row of channel 0, out_side floats
  size_t plane_count;  // floats from one channel to the next
};

struct ResampleKernel {
  int lanes;  // rows in a block: 8 or 16

  // One row of a block: the weighted sum of `taps` rows of `count` bytes,
  // `stride` bytes apart, in units of 1/128.
  void (*down)(const uint8_t* rows, size_t stride, const int16_t* weights,
               int taps, size_t count, int16_t* out);

  // Transposes a block's rows, `stride` apart, to columns of `lanes` values.
  // REQUIRES: count is a multiple of 8, count <= stride.
  void (*turn)(const int16_t* rows, size_t stride, size_t count,
               int16_t* columns);

  void (*across)(const AcrossTask& task);
};

const ResampleKernel& portable_kernel();
// The fastest kernel that this CPU supports.
const ResampleKernel& best_kernel();

}  // namespace penstock
