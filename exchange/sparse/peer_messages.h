// A message to each other rank and one from each, of a bounded size.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "exchange/memory/arena.h"
#include "exchange/transport/transport.h"

namespace penstock::exchange {

// For one thread. The transport and the arena must outlive it.
class PeerMessages {
 public:
  // room_bytes: of a message that comes. tag: Transport's.
  PeerMessages(Transport& transport, Arena& arena, size_t room_bytes, int tag);
  static size_t requests_of(int ranks) { return 2 * size_t(ranks); }

  // Begins both, with a rank that is not this one. `sent` must stay until
  // all_sent(). Errors: the transport's, with the rank.
  [[nodiscard]] Status post(int rank, std::span<const std::byte> sent);

  // Errors: the transport's, with the rank.
  [[nodiscard]] Result<bool> all_received();
  [[nodiscard]] Result<bool> all_sent();

  // What came. REQUIRES: it has.
  std::span<std::byte> memory(int rank) const { return peer(rank).room; }
  size_t received_bytes(int rank) const { return peer(rank).received_bytes; }

  // The ranks that have not sent theirs: "rank 1, rank 3".
  std::string missing() const;

 private:
  struct Peer {
    std::span<std::byte> room;
    Transport::Request send, receive;
    bool is_sent = true, is_received = true;
    size_t received_bytes = 0;
  };
  const Peer& peer(int rank) const { return peers_[size_t(rank)]; }

  Transport& transport_;
  const int tag_;
  std::vector<Peer> peers_;
};

}  // namespace penstock::exchange
