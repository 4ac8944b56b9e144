#include "exchange/sparse/sparse_exchange.h"

#include <algorithm>

namespace penstock::exchange {

SparseShape largest_of(const std::vector<SparseShape>& layers) {
  SparseShape largest;
  for (const SparseShape& shape : layers) {
    largest.elements = std::max(largest.elements, shape.elements);
    largest.send_entries = std::max(largest.send_entries, shape.send_entries);
    largest.keep_entries = std::max(largest.keep_entries, shape.keep_entries);
  }
  return largest;
}

Result<SparseView> SparseExchange::read(int rank, const SparseMessage& message,
                                        size_t received, size_t first,
                                        size_t count) {
  Result<SparseView> entries = message.read(head(), received, first, count);
  if (!entries) {
    return std::move(entries).error().wrap("rank " + std::to_string(rank));
  }
  is_finite_ = is_finite_ && message.head().is_finite != 0;
  return entries;
}

}  // namespace penstock::exchange
