// A sparse sum over all ranks in two phases of messages that have a bound
// (docs/exchange.md): each rank sends what it picked out to the owner of the
// region, who adds up, keeps the largest sums and gives them to all. What is
// not among them stays in a residual: with who picked it out where the message
// was full, with the owner where its sum was not large enough (as SparDL has
// it). So no size has to be agreed on first, and nothing is lost.
#pragma once

#include <memory>
#include <vector>

#include "exchange/sparse/region_sum.h"
#include "exchange/sparse/regions.h"
#include "exchange/sparse/sparse_message.h"
#include "exchange/transport/transport.h"

namespace penstock::exchange {

// Of a layer; the same on all ranks.
struct TwoPhaseShape {
  size_t elements = 0;
  size_t send_entries = 0;  // most in the message to the owner of a region
  size_t keep_entries = 0;  // most that an owner gives to all
};

// For one thread. One exchange at a time; nothing is allocated after the
// constructor.
class TwoPhase {
 public:
  // Memory for the largest of the layers. The transport must outlive it, and
  // have room for requests_of(ranks).
  TwoPhase(Transport& transport, const std::vector<TwoPhaseShape>& layers);
  static size_t requests_of(int ranks) { return 2 * size_t(ranks); }

  struct Input {
    TwoPhaseShape shape;
    uint32_t layer = 0;  // for ranks that lose each other
    uint32_t step = 0;
    float threshold = 0;              // as accumulate_and_select()
    std::span<const float> gradient;  // may be reused when begin() returns
    std::span<float> residual;
  };
  // Picks out and sends. The residual must stay until the exchange is done.
  // REQUIRES: the exchange before is done; the shape is one of the layers'.
  [[nodiscard]] Result<SelectPass> begin(const Input& input);

  // Goes on as far as messages are there; true: it is done. After an error
  // nothing more can be exchanged.
  // Errors: kInvalidArgument  ranks have lost each other
  //         kIo               the transport's
  [[nodiscard]] Result<bool> advance();

  // The largest sums, the same on all ranks, by their indices. Until begin().
  // REQUIRES: it is done.
  SparseView sums() const {
    return {{indices_.data(), entries_}, {values_.data(), entries_}};
  }
  // False: what some rank gave was infinite or no number.
  bool is_finite() const { return is_finite_; }

 private:
  enum class Phase { kIdle, kToOwners, kToAll };
  struct Peer {
    std::vector<std::byte> sent, received;
    Transport::Request send, receive;
    bool is_sent = true, is_received = true;
    uint32_t entries = 0;  // sent
    size_t sent_bytes = 0, received_bytes = 0;
  };

  SparseMessage sent_to(int rank);
  SparseMessage received_from(int rank);
  SparseMessage gathered_from(int rank);
  MessageHead head(uint32_t entries = 0, bool is_finite = true) const {
    return {input_.layer, input_.step, entries, is_finite ? 1u : 0u};
  }
  SelectPass select();
  Status post(int rank);
  Result<bool> all_received();
  Result<bool> all_sent();
  Status add_up();
  Status give_to_all();
  Status take_all();

  Transport& transport_;
  std::vector<Peer> peers_;
  std::vector<std::byte> kept_, gathered_;
  std::vector<uint32_t> indices_;
  std::vector<float> values_;
  std::unique_ptr<RegionSum> sum_;

  Phase phase_ = Phase::kIdle;
  Input input_;
  Regions regions_{0, 1};
  Transport::Request gather_;
  bool is_gathered_ = true;
  size_t entries_ = 0;
  bool is_finite_ = true;
};

}  // namespace penstock::exchange
