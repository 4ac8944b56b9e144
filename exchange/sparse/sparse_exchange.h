// A sparse sum over all ranks: each rank sends the large elements of its
// residual and receives the sums of all ranks' entries.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/result.h"
#include "exchange/memory/arena.h"
#include "exchange/sparse/peer_messages.h"
#include "exchange/sparse/residual.h"
#include "exchange/sparse/sparse_message.h"
#include "exchange/transport/transport.h"

namespace penstock::exchange {

// Sizes for a layer; the same on all ranks.
struct SparseShape {
  size_t elements = 0;
  size_t send_entries = 0;  // room of a message of selected entries
  size_t keep_entries = 0;  // most sums sent to all for a region
};

// The largest of each size.
SparseShape largest_of(const std::vector<SparseShape>& layers);

// Not thread-safe. One exchange at a time. Allocates in the constructor only.
class SparseExchange {
 public:
  struct Input {
    SparseShape shape;   // one of the constructor's shapes
    uint32_t layer = 0;  // layer and step: checked by receivers
    uint32_t step = 0;
    float threshold = 0;              // see accumulate_and_select()
    std::span<const float> gradient;  // not read after begin()
    Residual* residual = nullptr;     // must stay valid until the end
  };

  virtual ~SparseExchange() = default;
  SparseExchange(const SparseExchange&) = delete;
  SparseExchange& operator=(const SparseExchange&) = delete;

  // Selects entries and begins to send them. REQUIRES: the last exchange is
  // done.
  // Errors: the transport's, and the residual's status()
  [[nodiscard]] virtual Result<SelectPass> begin(const Input& input) = 0;

  // Advances without waiting for messages; true: the exchange is done. Unusable
  // after an error.
  // Errors: kInvalidArgument  a rank's message is for another layer or step, or
  //                           malformed
  //         kIo               the transport's
  [[nodiscard]] virtual Result<bool> advance() = 0;

  // The sum is the total of all parts; the same on all ranks. Valid until
  // begin(). REQUIRES: the exchange is done; 0 <= rank < parts().
  SparseView part(int rank) const { return parts_[size_t(rank)]; }
  int parts() const { return int(parts_.size()); }

  // False: some rank's input was infinite or NaN. The same on all ranks.
  bool is_finite() const { return is_finite_; }
  // Bytes that this rank sent in this exchange.
  virtual size_t sent_bytes() const = 0;
  // Ranks whose messages are awaited: "rank 1, rank 3"; "" if unknown or none.
  std::string missing() const { return messages_.missing(); }

 protected:
  // send_entries: the largest of all layers.
  SparseExchange(Transport& transport, Arena& arena, size_t send_entries,
                 int tag)
      : transport_(transport),
        messages_(transport, arena, SparseMessage::bytes(send_entries), tag),
        parts_(size_t(transport.size())) {}

  MessageHead head(size_t entries = 0, bool is_finite = true) const {
    return {input_.layer, input_.step, uint32_t(entries), is_finite ? 1u : 0u};
  }
  // The entries of `rank`, from `received` bytes; notes whether they are
  // finite. Errors: SparseMessage::read()'s, with the rank
  Result<SparseView> read(int rank, const SparseMessage& message,
                          size_t received, size_t first, size_t count);

  Transport& transport_;
  PeerMessages messages_;
  std::vector<SparseView> parts_;
  Input input_;
  bool is_finite_ = true;
};

}  // namespace penstock::exchange
