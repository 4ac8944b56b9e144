// The threshold of a layer's selection from step to step. Pure.
//
// Gradients change slowly, so a threshold that selected k entries selects
// nearly k in the next step. The number of candidates corrects it, and at
// intervals it is found exactly.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::exchange {

class Threshold {
 public:
  // wanted: entries to select, 1 or more. exact_steps: longest interval between
  // exact thresholds, in steps; 1: always exact.
  Threshold(size_t wanted, uint32_t exact_steps);

  // Whether the next step must first call set_exact() with kth_magnitude() of
  // residual + gradient.
  bool wants_exact() const { return steps_left_ == 0; }
  void set_exact(float magnitude);

  // > 0 once set_exact() was called, so zeros are never selected.
  float value() const { return value_; }

  // Corrects the threshold by the number of candidates that it gave in a step.
  void correct(size_t candidates);

  // Steps until the threshold is found exactly again. value() and steps_left()
  // are the whole state, for checkpoints.
  uint32_t steps_left() const { return steps_left_; }
  void restore(float value, uint32_t steps_left) {
    value_ = value;
    steps_left_ = steps_left;
  }

 private:
  size_t wanted_;
  uint32_t exact_steps_;
  uint32_t steps_left_ = 0;  // with the current value
  float value_ = 0;
};

}  // namespace penstock::exchange
