// The resampler's inner loops: once for every machine, once for AVX2. Both
// give the same bits: the arithmetic is that of whole numbers, and the last
// step's floats are multiplied and added one by one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// Up to so many taps sums are kept in 16 bits, each product rounded to 1/64 of
// a pixel's step; beyond, in 32 bits, rounded once.
inline constexpr int kMaxShortTaps = 16;

// A block of output rows.
struct AcrossTask {
  const int16_t* columns;  // as turn() leaves them
  const int* firsts;       // of output x: its first pixel
  int first_origin;        // the pixel that columns begins with
  const int16_t* weights;  // taps of output 0, of 1, ...
  int taps;
  int out_side;
  int rows;  // of the block that are wanted
  // By channel: output = sum of weights * pixels / 64 * scale + offset, weights
  // counted as parts of one.
  float scale[3];
  float offset[3];
  float* out;          // the block's first row of channel 0, out_side floats
  size_t plane_count;  // floats from a channel to the next
};

struct ResampleKernel {
  int lanes;  // rows in a block: 8 or 16

  // One row of a block: the weighted sum of `taps` rows of `count` bytes that
  // lie `stride` bytes apart, in steps of 1/128.
  void (*down)(const uint8_t* rows, size_t stride, const int16_t* weights,
               int taps, size_t count, int16_t* out);

  // Turns a block's rows, `stride` apart, into columns of `lanes` each.
  // REQUIRES: count is a multiple of 8, count <= stride.
  void (*turn)(const int16_t* rows, size_t stride, size_t count,
               int16_t* columns);

  void (*across)(const AcrossTask& task);
};

const ResampleKernel& portable_kernel();
// The fastest that the machine has.
const ResampleKernel& best_kernel();

}  // namespace penstock
