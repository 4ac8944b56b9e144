#include "exchange/sparse/peer_messages.h"

namespace penstock::exchange {
namespace {

Error of_rank(Error error, size_t rank) {
  return std::move(error).wrap("rank " + std::to_string(rank));
}

}  // namespace

PeerMessages::PeerMessages(Transport& transport, Arena& arena,
                           size_t room_bytes, int tag)
    : transport_(transport), tag_(tag), peers_(size_t(transport.size())) {
  for (size_t rank = 0; rank < peers_.size(); ++rank) {
    if (int(rank) == transport.rank()) continue;
    peers_[rank].room = arena.take<std::byte>(room_bytes);
  }
}

Status PeerMessages::post(int rank, std::span<const std::byte> sent) {
  Peer& peer = peers_[size_t(rank)];
  auto receive = transport_.receive(rank, tag_, peer.room);
  if (!receive) return of_rank(std::move(receive).error(), size_t(rank));
  peer.receive = *receive;
  peer.is_received = false;
  auto send = transport_.send(rank, tag_, sent);
  if (!send) return of_rank(std::move(send).error(), size_t(rank));
  peer.send = *send;
  peer.is_sent = false;
  return Done{};
}

Result<bool> PeerMessages::all_received() {
  bool are_all = true;
  for (size_t rank = 0; rank < peers_.size(); ++rank) {
    Peer& peer = peers_[rank];
    if (peer.is_received) continue;
    const Result<bool> done =
        transport_.test(peer.receive, &peer.received_bytes);
    if (!done) return of_rank(done.error(), rank);
    peer.is_received = *done;
    are_all = are_all && *done;
  }
  return are_all;
}

Result<bool> PeerMessages::all_sent() {
  bool are_all = true;
  for (size_t rank = 0; rank < peers_.size(); ++rank) {
    Peer& peer = peers_[rank];
    if (peer.is_sent) continue;
    const Result<bool> done = transport_.test(peer.send);
    if (!done) return of_rank(done.error(), rank);
    peer.is_sent = *done;
    are_all = are_all && *done;
  }
  return are_all;
}

std::string PeerMessages::missing() const {
  std::string text;
  for (size_t rank = 0; rank < peers_.size(); ++rank) {
    if (peers_[rank].is_received) continue;
    text += (text.empty() ? "rank " : ", rank ") + std::to_string(rank);
  }
  return text;
}

}  // namespace penstock::exchange
