// The threshold of a layer's selection from step to step. Gradients change
// slowly: what picked out k entries in one step does so in the next one nearly,
// and is corrected by how many there were; now and then it is found exactly.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::exchange {

class Threshold {
 public:
  // wanted: entries to pick out, 1 or more. exact_steps: how often, in steps,
  // it is found exactly at least; 1: always.
  Threshold(size_t wanted, uint32_t exact_steps);

  // Whether the next step has to find it exactly first: kth_magnitude() of what
  // has been summed up, given to set_exact().
  bool wants_exact() const { return steps_left_ == 0; }
  void set_exact(float magnitude);

  // > 0: of zeros nothing is picked out.
  float value() const { return value_; }

  // What the step found that used it.
  void correct(size_t candidates);

  // Of the steps, until it is found exactly again; with value(), all its state.
  uint32_t steps_left() const { return steps_left_; }
  void restore(float value, uint32_t steps_left) {
    value_ = value;
    steps_left_ = steps_left;
  }

 private:
  size_t wanted_;
  uint32_t exact_steps_;
  uint32_t steps_left_ = 0;  // with what was found last
  float value_ = 0;
};

}  // namespace penstock::exchange
