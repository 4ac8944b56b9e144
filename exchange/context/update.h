// What is done with a layer's sums.
#pragma once

#include <span>

#include "exchange/sparse/sparse_message.h"

namespace penstock::exchange {

// Applies a layer's sums over all ranks, after each submit(). Called by the
// thread that finds the exchange done: one in submit(), poll() or wait(), or
// the context's own. Must not call the context.
//
// Not called for sums that are not finite, unless passes_nonfinite. With a
// device, work queued on it for the parts is finished before done() is called.
class Update {
 public:
  virtual ~Update() = default;
  // Called for each part, in the same order on all ranks. The sum is the total
  // of all parts; an element may be in several.
  virtual void add_sparse(const SparseView& part) = 0;
  virtual void add_dense(std::span<const float> sums) = 0;  // called once
  virtual void done() {}  // after the last part, or the dense sums

 protected:
  Update() = default;
  Update(const Update&) = default;
  Update& operator=(const Update&) = default;
};

// target[i] += factor x sum[i]. If the target is the gradient that the context
// keeps (keeps_gradient()), it becomes factor x sum.
class AddScaled : public Update {
 public:
  AddScaled() = default;
  AddScaled(std::span<float> target, float factor)
      : target_(target), factor_(factor) {}
  void add_sparse(const SparseView& part) override;
  void add_dense(std::span<const float> sums) override;

 private:
  std::span<float> target_;
  float factor_ = 1;
};

}  // namespace penstock::exchange
