// A sparse sum in two phases of bounded messages (docs/exchange.md). Each rank
// sends its entries to the owners of their regions. Each owner adds them up,
// keeps the largest sums and sends these to all.
//
// All else stays in residuals: entries without room in a message in the
// sender's, smaller sums in the owner's (as in SparDL). So no sizes need to be
// agreed on first, and nothing is lost.
#pragma once

#include <vector>

#include "exchange/memory/arena.h"
#include "exchange/sparse/peer_messages.h"
#include "exchange/sparse/region_sum.h"
#include "exchange/sparse/regions.h"
#include "exchange/sparse/sparse_exchange.h"
#include "exchange/transport/transport.h"

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
  SparseView part(int rank) const override {
    return parts_[size_t(rank)];  // the sums that this owner kept
  }
  int parts() const override { return int(parts_.size()); }
  bool is_finite() const override { return is_finite_; }
  size_t sent_bytes() const override;
  std::string missing() const override { return messages_.missing(); }

 private:
  enum class Phase { kIdle, kToOwners, kToAll };
  struct Sent {
    std::span<std::byte> memory;
    uint32_t entries = 0;
    size_t bytes = 0;
  };

  SparseMessage sent_to(int rank);
  SparseMessage gathered_from(int rank);
  MessageHead head(uint32_t entries = 0, bool is_finite = true) const {
    return {input_.layer, input_.step, entries, is_finite ? 1u : 0u};
  }
  SelectPass select();
  SelectPass select_region(int rank);
  SparseRoom candidates_room() const;
  size_t select_largest(int rank, size_t taken);
  Status add_up();
  Status give_to_all();
  Status take_all();

  Transport& transport_;
  PeerMessages messages_;
  std::vector<Sent> sent_;
  std::span<std::byte> kept_, gathered_;
  std::vector<SparseView> parts_;
  RegionSum sum_;

  Phase phase_ = Phase::kIdle;
  Input input_;
  Regions regions_{0, 1};
  Transport::Request gather_;
  bool is_gathered_ = true;
  bool is_finite_ = true;
};

}  // namespace penstock::exchange
