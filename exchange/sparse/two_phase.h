// A sparse sum in two phases of bounded messages (docs/exchange.md). Each rank
// sends its entries to the owners of their regions. Each owner adds them up,
// keeps the largest sums and sends these to all.
//
// All else stays in residuals: entries without room in a message in the
// sender's, smaller sums in the owner's (as in SparDL). So no sizes need to be
// agreed on first, and nothing is lost.
#pragma once

#include <vector>

#include "exchange/sparse/region_sum.h"
#include "exchange/sparse/regions.h"
#include "exchange/sparse/sparse_exchange.h"

namespace penstock::exchange {

// Messages have room for kSlack times the expected entries. keep_factor: room
// for sums, relative to the room for entries.
SparseShape two_phase_shape(size_t elements, double density, double keep_factor,
                            int ranks);

class TwoPhase : public SparseExchange {
 public:
  // Takes memory for the largest layer. The transport and the arena must
  // outlive it; requests_of(ranks) requests must be reserved.
  TwoPhase(Transport& transport, Arena& arena,
           const std::vector<SparseShape>& layers);
  static size_t requests_of(int ranks) {
    return PeerMessages::requests_of(ranks) + 1;
  }

  [[nodiscard]] Result<SelectPass> begin(const Input& input) override;
  [[nodiscard]] Result<bool> advance() override;
  size_t sent_bytes() const override;

 private:
  enum class Phase { kIdle, kToOwners, kToAll };
  struct Sent {
    std::span<std::byte> memory;
    uint32_t entries = 0;
    size_t bytes = 0;
  };

  SparseMessage sent_to(int rank);
  SparseMessage gathered_from(int rank);
  SelectPass select();
  SelectPass select_region(int rank);
  SparseRoom candidates_room() const;
  size_t select_largest(int rank, size_t taken);
  Status add_up();
  Status give_to_all();
  Status take_all();

  std::vector<Sent> sent_;
  std::span<std::byte> kept_, gathered_;
  RegionSum sum_;

  Phase phase_ = Phase::kIdle;
  Regions regions_{0, 1};
  Transport::Request gather_;
  bool is_gathered_ = true;
};

}  // namespace penstock::exchange
