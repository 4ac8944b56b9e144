#include "exchange/context/update.h"

namespace penstock::exchange {

void AddScaled::add_sparse(const SparseView& part) {
  for (size_t i = 0; i < part.indices.size(); ++i) {
    target_[part.indices[i]] += factor_ * part.values[i];
  }
}

void AddScaled::add_dense(std::span<const float> sums) {
  if (sums.data() == target_.data()) {
    for (float& one : target_) one *= factor_;
    return;
  }
  for (size_t i = 0; i < sums.size(); ++i) target_[i] += factor_ * sums[i];
}

}  // namespace penstock::exchange
