// Exchanges groups of layers over a transport, one group at a time.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "exchange/context/schedule.h"
#include "exchange/dense/dense_sum.h"
#include "exchange/memory/arena.h"
#include "exchange/sparse/to_everybody.h"
#include "exchange/sparse/two_phase.h"
#include "exchange/transport/transport.h"

namespace penstock::exchange {

// Not thread-safe. Allocates in the constructor only.
class Engine {
 public:
  // The transport and the arena must outlive it; requests_of(ranks) requests
  // must be reserved.
  Engine(Transport& transport, Arena& arena, const std::vector<Group>& groups,
         const std::vector<LayerOptions>& layers, double keep_factor);
  static size_t requests_of(int ranks) {
    return std::max(TwoPhase::requests_of(ranks), DenseSum::requests_of(ranks));
  }

  // Begins the exchange of a sparse group. REQUIRES: not busy.
  // Errors: SparseExchange::begin()'s
  [[nodiscard]] Result<SelectPass> begin_sparse(size_t group, uint32_t step,
                                                float threshold,
                                                std::span<const float> gradient,
                                                Residual& residual);
  // Begins a dense sum of the values, in place. REQUIRES: not busy.
  // Errors: DenseSum::begin()'s
  [[nodiscard]] Status begin_dense(std::span<float> values);

  // The most entries in a message.
  size_t most_entries() const { return most_entries_; }

  bool is_busy() const { return is_busy_; }
  // Advances without waiting for messages; true: the group is done.
  // Errors: SparseExchange::advance()'s
  [[nodiscard]] Result<bool> advance();

  // The current or last sparse exchange. REQUIRES: the group begun last is
  // sparse.
  const SparseExchange& sparse() const { return *sparse_; }
  // Whether the last dense sum was found finite. False with one rank, which
  // checks nothing.
  bool is_dense_finite() const {
    return transport_.size() > 1 && dense_sum_->is_finite();
  }
  // Bytes sent by this rank for the group begun last.
  size_t sent_bytes() const;
  std::string missing() const {
    return sparse_ != nullptr ? sparse_->missing() : "";
  }

 private:
  Transport& transport_;
  std::vector<SparseShape> shapes_;
  size_t most_entries_ = 0;
  std::vector<SparseExchange*> exchanges_;  // by group; null: dense
  std::optional<TwoPhase> two_phase_;
  std::optional<ToEverybody> to_everybody_;
  std::optional<DenseSum> dense_sum_;

  bool is_busy_ = false;
  SparseExchange* sparse_ = nullptr;
  std::span<float> dense_;
};

}  // namespace penstock::exchange
