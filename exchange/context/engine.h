// Exchanges one group of layers after the other over a transport.
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

// For one thread. Nothing is allocated after the constructor.
class Engine {
 public:
  // The transport and the arena must outlive it; the transport needs room for
  // requests_of(ranks).
  Engine(Transport& transport, Arena& arena, const std::vector<Group>& groups,
         const std::vector<LayerOptions>& layers, double keep_factor);
  static size_t requests_of(int ranks) {
    return std::max(TwoPhase::requests_of(ranks), DenseSum::requests_of(ranks));
  }

  // Of a sparse group. REQUIRES: not busy.
  [[nodiscard]] Result<SelectPass> begin_sparse(size_t group, uint32_t step,
                                                float threshold,
                                                std::span<const float> gradient,
                                                Residual& residual);
  // In place. REQUIRES: not busy.
  [[nodiscard]] Status begin_dense(std::span<float> values);

  // Entries, in one of its messages.
  size_t most_entries() const { return most_entries_; }

  bool is_busy() const { return is_busy_; }
  // Whether what was begun is done. Errors: SparseExchange::advance()'s
  [[nodiscard]] Result<bool> advance();

  // Of what is done, or was begun last.
  const SparseExchange& sparse() const { return *sparse_; }
  // False may also mean that nobody looked.
  bool is_dense_finite() const {
    return transport_.size() > 1 && dense_sum_->is_finite();
  }
  size_t sent_bytes() const;
  std::string missing() const {
    return sparse_ != nullptr ? sparse_->missing() : "";
  }

 private:
  Transport& transport_;
  std::vector<SparseShape> shapes_;
  size_t most_entries_ = 0;
  std::vector<SparseExchange*> exchanges_;  // of each group; none: dense
  std::optional<TwoPhase> two_phase_;
  std::optional<ToEverybody> to_everybody_;
  std::optional<DenseSum> dense_sum_;

  bool is_busy_ = false;
  SparseExchange* sparse_ = nullptr;
  std::span<float> dense_;
};

}  // namespace penstock::exchange
