#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <utility>

#include "loader/peer/peer_wire.h"

namespace penstock {
namespace {

constexpr size_t kMostParts = 64;  // per sendmsg()

}  // namespace

void PeerOutput::add(PeerHead head, std::vector<uint8_t> body) {
  head.bytes = static_cast<uint32_t>(body.size());
  const bool is_put = head.kind == PeerKind::kPut;
  bytes_ += kPeerHeadBytes + body.size();
  if (is_put) {
    ++puts_;
    put_bytes_ += body.size();
  }
  pieces_.push_back({encode_peer_head(head), std::move(body), is_put});
}

PeerOutput::Sent PeerOutput::send(int fd) {
  while (!pieces_.empty()) {
    iovec parts[kMostParts];
    size_t count = 0;
    size_t sent = sent_bytes_;
    for (auto piece = pieces_.begin();
         piece != pieces_.end() && count + 2 <= kMostParts; ++piece) {
      if (sent < kPeerHeadBytes) {
        parts[count++] = {piece->head.data() + sent, kPeerHeadBytes - sent};
        sent = kPeerHeadBytes;
      }
      const size_t begin = sent - kPeerHeadBytes;
      if (begin < piece->body.size()) {
        parts[count++] = {piece->body.data() + begin,
                          piece->body.size() - begin};
      }
      sent = 0;
    }
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    const ssize_t taken = ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0 && (errno == EAGAIN || errno == ENOBUFS)) return Sent::kSome;
    if (taken < 0) return Sent::kBroken;
    take_off(static_cast<size_t>(taken));
  }
  return Sent::kAll;
}

void PeerOutput::take_off(size_t bytes) {
  bytes_ -= bytes;
  sent_bytes_ += bytes;
  while (!pieces_.empty() &&
         sent_bytes_ >= kPeerHeadBytes + pieces_.front().body.size()) {
    const Piece& first = pieces_.front();
    sent_bytes_ -= kPeerHeadBytes + first.body.size();
    if (first.is_put) {
      --puts_;
      put_bytes_ -= first.body.size();
    }
    pieces_.pop_front();
  }
}

}  // namespace penstock
