#include "loader/peer/served_peer.h"

#include <poll.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "loader/peer/peer_socket.h"

namespace penstock {

ServedPeer::ServedPeer(UnforkedFd fd, PeerService& service, uint64_t now_ns)
    : fd_(std::move(fd)),
      service_(service),
      deadline_ns_(now_ns + kProofTime_ns) {
  set_peer_options(fd_.get());
  claim_.fingerprint = service.fingerprint;
  claim_.samples = service.cache->samples();
  claim_.node = service.node;
  claim_.port = service.port;
}

ServedPeer::~ServedPeer() {
  service_.output_bytes -= counted_output_bytes_;
  service_.input_bytes -= reserved_bytes_;
}

bool ServedPeer::is_silent(uint64_t now_ns) const {
  const uint64_t age_ns = now_ns + kProofTime_ns - deadline_ns_;
  return (state_ == State::kHello && age_ns >= kHelloTime_ns) ||
         (state_ == State::kProof && age_ns >= kAnswerTime_ns);
}

// No reading while too many replies are unsent: the client must take them
// first.
bool ServedPeer::may_read() const {
  return state_ != State::kSealing && state_ != State::kOpening &&
         output_.bytes() < kMostWaiting_bytes;
}

short ServedPeer::events() const {
  return static_cast<short>((may_read() ? POLLIN : 0) |
                            (output_.bytes() > 0 ? POLLOUT : 0));
}

bool ServedPeer::go_on(short events, uint64_t now_ns) {
  if ((events & POLLOUT) != 0 && !send(now_ns)) return false;
  if (may_read() && (events & (POLLIN | POLLHUP | POLLERR)) != 0) {
    const PeerReceived received = receive(fd_.get(), input_);
    if (received == PeerReceived::kEnd) return false;
    if (received == PeerReceived::kSome && is_known())
      deadline_ns_ = UINT64_MAX;
  } else if ((events & (POLLHUP | POLLERR)) != 0) {
    return false;
  }
  if (!handle_frames()) {
    ++service_.refused;
    return false;
  }
  return send(now_ns);
}

// Includes frames that were received while may_read() was false for output.
bool ServedPeer::handle_frames() {
  has_frames_ = false;
  while (may_read()) {
    auto frame = input_.next();
    if (!frame) return false;
    if (!*frame) return take_begun();
    set_reserved(0);
    if (!handle(**frame)) return false;
  }
  has_frames_ = true;
  return true;
}

// Whether the state allows such a frame. The head is checked alone, before the
// body takes memory.
bool ServedPeer::may_come(const PeerHead& head) const {
  if (is_known()) {
    return (head.kind == PeerKind::kGet || head.kind == PeerKind::kPut) &&
           head.index < service_.cache->samples();
  }
  return head.kind ==
         (state_ == State::kHello ? PeerKind::kHello : PeerKind::kProof);
}

// For an incomplete put: reserves memory for its body, or skips it.
bool ServedPeer::take_begun() {
  const auto& begun = input_.begun();
  if (!begun) return true;
  if (!may_come(*begun)) return false;
  if (begun->kind != PeerKind::kPut || reserved_bytes_ > 0) return true;
  if (service_.input_bytes + begun->bytes > kMostAll_bytes) {
    input_.skip_begun();
  } else {
    set_reserved(begun->bytes);
  }
  return true;
}

void ServedPeer::set_reserved(uint64_t bytes) {
  service_.input_bytes += bytes;
  service_.input_bytes -= reserved_bytes_;
  reserved_bytes_ = bytes;
}

bool ServedPeer::handle(const PeerInput::Frame& frame) {
  if (!may_come(frame.head)) return false;
  if (!is_known()) {
    handle_stranger(frame);
    return true;
  }
  return frame.head.kind == PeerKind::kGet ? answer(frame.head.index)
                                           : take_put(frame);
}

void ServedPeer::handle_stranger(const PeerInput::Frame& frame) {
  if (state_ == State::kHello) {
    std::copy(frame.body.begin(), frame.body.end(),
              claim_.client_nonce.begin());
    claim_.server_nonce = random_nonce();
    state_ = State::kSealing;
    wanted_ = Wanted::kSeal;
    wanted_text_ = server_claim_text(claim_);
    return;
  }
  state_ = State::kOpening;
  wanted_ = Wanted::kOpen;
  wanted_text_.assign(frame.body.begin(), frame.body.end());
}

std::string ServedPeer::take_wanted() {
  wanted_ = Wanted::kNothing;
  return std::exchange(wanted_text_, {});
}

bool ServedPeer::take_sealed(const std::string& credential, uint64_t now_ns) {
  if (credential.empty() || credential.size() > kMostCredentialBytes) {
    return false;
  }
  std::vector<uint8_t> body(claim_.server_nonce.begin(),
                            claim_.server_nonce.end());
  body.insert(body.end(), credential.begin(), credential.end());
  output_.add({.kind = PeerKind::kChallenge}, std::move(body));
  state_ = State::kProof;
  return go_on(0, now_ns);
}

bool ServedPeer::take_opened(const std::string& claim, uint64_t now_ns) {
  if (claim != client_claim_text(claim_)) {
    ++service_.refused;
    return false;
  }
  state_ = State::kKnown;
  deadline_ns_ = UINT64_MAX;
  return go_on(0, now_ns);
}

void ServedPeer::answer_miss(uint64_t index) {
  output_.add({.kind = PeerKind::kMiss, .index = index});
}

bool ServedPeer::answer(uint64_t index) {
  CacheCore& core = service_.cache->core();
  const auto bytes = core.find(index);
  if (!bytes || *bytes == 0 || *bytes > kMostPeerSampleBytes ||
      service_.output_bytes + output_.bytes() - counted_output_bytes_ + *bytes >
          kMostAll_bytes) {
    answer_miss(index);
    return true;
  }
  std::vector<uint8_t> sample;
  int64_t label = 0;
  try {
    sample.resize(*bytes);
  } catch (const std::bad_alloc&) {
    answer_miss(index);
    return true;
  }
  if (!core.copy(index, sample, label)) {
    answer_miss(index);
    return true;
  }
  ++service_.served;
  PeerHead head{.kind = PeerKind::kSample, .index = index, .label = label};
  head.sum = peer_checksum(sample, label);
  output_.add(head, std::move(sample));
  return true;
}

bool ServedPeer::take_put(const PeerInput::Frame& frame) {
  const PeerHead& head = frame.head;
  if (peer_checksum(frame.body, head.label) != head.sum) return false;
  service_.cache->core().put_in(head.index, frame.body, head.label);
  ++service_.taken;
  return true;
}

bool ServedPeer::send(uint64_t now_ns) {
  const uint64_t before_bytes = output_.bytes();
  if (before_bytes > 0 &&
      output_.send(fd_.get()) == PeerOutput::Sent::kBroken) {
    return false;
  }
  const bool has_moved = output_.bytes() < before_bytes;
  service_.output_bytes += output_.bytes() - counted_output_bytes_;
  counted_output_bytes_ = output_.bytes();
  if (!is_known()) return true;
  // During a message in either direction, bytes must move within kStallTime_ns.
  if (output_.bytes() == 0 && !input_.is_within()) {
    deadline_ns_ = UINT64_MAX;
  } else if (has_moved || deadline_ns_ == UINT64_MAX) {
    deadline_ns_ = now_ns + kStallTime_ns;
  }
  return true;
}

}  // namespace penstock
