// The antialiased triangle filter of Pillow, and of torchvision with
// antialias=True, for one direction of a picture. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

// Weights are whole numbers of 1 / kFilterOne.
inline constexpr int kFilterOne = 1 << 14;

// The input pixels of a line, and their weights, for each output pixel. All
// outputs have the same number of taps; some weights may be 0.
class Filter {
 public:
  // Maps the `length` pixels from `begin` on to out_count outputs. The triangle
  // extends one output pixel to both sides; if the part is enlarged, one input
  // pixel. Only pixels that the part touches are used. The weights of each
  // output add up to exactly kFilterOne. reversed: the last output comes first.
  // REQUIRES: begin >= 0, length > 0, out_count >= 1.
  void place(double begin, double length, int out_count, bool reversed);

  int taps() const { return taps_; }
  // Index in the line of output i's first pixel.
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
