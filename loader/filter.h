// The antialiased triangle filter of Pillow, and of torchvision with
// antialias=True, for one direction of a picture. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

// Weights are whole numbers of 1 / kFilterOne.
inline constexpr int kFilterOne = 1 << 14;

// Which pixels of a line each output pixel is made of, and with what weights.
// All outputs have the same number of taps; the weights of some may be 0.
class Filter {
 public:
  // The `length` pixels from `begin` on become out_count. A triangle reaches
  // over one output pixel to both sides, or over one pixel of the line where
  // it is enlarged; only pixels that the part touches enter, and each
  // output's weights add up to kFilterOne exactly. reversed: the last output
  // comes first.
  // REQUIRES: begin >= 0, length > 0, out_count >= 1.
  void place(double begin, double length, int out_count, bool reversed);

  int taps() const { return taps_; }
  // The first of output i's pixels, counted from the line's.
  int first(int i) const { return firsts_[static_cast<size_t>(i)]; }
  const int* firsts() const { return firsts_.data(); }
  // taps() weights, >= 0, of output i; those of i + 1 follow.
  const int16_t* weights(int i) const {
    return weights_.data() +
           static_cast<size_t>(i) * static_cast<size_t>(taps_);
  }
  // The pixels that the part touches: [touched_begin, touched_end).
  int touched_begin() const { return touched_begin_; }
  int touched_end() const { return touched_end_; }

 private:
  void place_output(double centre, double support, size_t slot);

  int taps_ = 0;
  int touched_begin_ = 0;
  int touched_end_ = 0;
  std::vector<int> firsts_;
  std::vector<int16_t> weights_;
};

}  // namespace penstock
