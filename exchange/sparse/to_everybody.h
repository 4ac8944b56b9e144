// A sparse sum in which each rank sends its entries to all others: fewer
// sequential messages than in two phases, more bytes from three ranks on.
#pragma once

#include <vector>

#include "exchange/sparse/sparse_exchange.h"

namespace penstock::exchange {

// Messages have room for kSlack times the expected entries; only selected
// entries are sent.
SparseShape to_everybody_shape(size_t elements, double density);

class ToEverybody : public SparseExchange {
 public:
  // Takes memory for the largest layer. The transport and the arena must
  // outlive it; requests_of(ranks) requests must be reserved.
  ToEverybody(Transport& transport, Arena& arena,
              const std::vector<SparseShape>& layers);
  static size_t requests_of(int ranks) {
    return PeerMessages::requests_of(ranks);
  }

  [[nodiscard]] Result<SelectPass> begin(const Input& input) override;
  [[nodiscard]] Result<bool> advance() override;
  size_t sent_bytes() const override {
    return sent_bytes_ * (parts_.size() - 1);
  }

 private:
  Status take_all();

  std::span<std::byte> sent_;
  size_t sent_bytes_ = 0;
  bool is_busy_ = false;
};

}  // namespace penstock::exchange
