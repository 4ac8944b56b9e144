// One message to each other rank and one from each, of bounded size.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "exchange/memory/arena.h"
#include "exchange/transport/transport.h"

namespace penstock::exchange {

// Not thread-safe. The transport and the arena must outlive it.
class PeerMessages {
 public:
  // room_bytes: capacity for each received message. tag: see Transport::send().
  PeerMessages(Transport& transport, Arena& arena, size_t room_bytes, int tag);
  static size_t requests_of(int ranks) { return 2 * size_t(ranks); }

  // Begins to send `sent` to another rank and to receive from it. `sent` must
  // stay valid until all_sent() is true.
  // Errors: the transport's, with the rank
  [[nodiscard]] Status post(int rank, std::span<const std::byte> sent);

  // Whether all messages are received, or sent; does not wait.
  // Errors: the transport's, with the rank
  [[nodiscard]] Result<bool> all_received();
  [[nodiscard]] Result<bool> all_sent();

  // The message from `rank`. REQUIRES: it has been received.
  std::span<std::byte> memory(int rank) const { return peer(rank).room; }
  size_t received_bytes(int rank) const { return peer(rank).received_bytes; }

  // Ranks whose message has not been received: "rank 1, rank 3"; "" if none.
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
