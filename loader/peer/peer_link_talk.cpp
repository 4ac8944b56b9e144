// A link's protocol after the TCP connection is made.
#include <algorithm>
#include <utility>

#include "common/clock.h"
#include "loader/peer/peer_link.h"

namespace penstock {
namespace {

// Gifts are queued only while less than this is unsent, so that get requests
// are not delayed.
constexpr uint64_t kMostAhead_bytes = 256 << 10;
constexpr int kMostReceives = 16;  // until other links get a turn
constexpr const char* kClosed = "closed the connection";
constexpr const char* kGarbage = "its message is not a reply";
constexpr const char* kWrongSample = "a sample's length or checksum is wrong";

}  // namespace

bool PeerLink::receive_all(uint64_t now_ns) {
  for (int i = 0; i < kMostReceives && state_ != State::kProving; ++i) {
    switch (receive(fd_.get(), input_)) {
      case PeerReceived::kNothing:
        return true;
      case PeerReceived::kEnd:
        return take_end(now_ns);
      case PeerReceived::kSome:
        if (!take_frames(now_ns)) return false;
    }
  }
  return true;
}

bool PeerLink::take_end(uint64_t now_ns) {
  if (state_ != State::kOpen) {
    try_next_port(now_ns, Trouble::kLate, kClosed);
    return false;
  }
  // Without requests in flight nothing is lost: the next process that serves is
  // tried without a backoff.
  if (asked_.empty()) {
    close();
    return true;
  }
  leave_alone(Trouble::kLate, where() + ": " + kClosed, now_ns);
  return false;
}

bool PeerLink::take_frames(uint64_t now_ns) {
  while (state_ == State::kGreeting || state_ == State::kOpen) {
    auto frame = input_.next();
    const char* wrong = kGarbage;
    if (frame && *frame) {
      wrong = take_frame(**frame);
    } else if (frame) {
      wrong = input_.begun() ? wrong_in(*input_.begun()) : nullptr;
      if (wrong == nullptr) return true;
    }
    if (wrong == nullptr) continue;
    if (state_ == State::kOpen) {
      leave_alone(Trouble::kRefused, where() + ": " + wrong, now_ns);
    } else {
      try_next_port(now_ns, Trouble::kRefused, wrong);
    }
    return false;
  }
  return true;
}

// Called for a head alone too, so that an invalid body is never buffered.
const char* PeerLink::wrong_in(const PeerHead& head) const {
  if (state_ != State::kOpen) {
    return head.kind == PeerKind::kChallenge ? nullptr
                                             : "its message is not a greeting";
  }
  const bool is_sample = head.kind == PeerKind::kSample;
  if ((!is_sample && head.kind != PeerKind::kMiss) || asked_.empty() ||
      asked_.front()->index != head.index) {
    return "its message is not the reply to the request";
  }
  const bool has_length =
      options_.sample_bytes == 0 || head.bytes == options_.sample_bytes;
  return is_sample && !has_length ? kWrongSample : nullptr;
}

const char* PeerLink::take_frame(const PeerInput::Frame& frame) {
  const char* const wrong = wrong_in(frame.head);
  if (wrong != nullptr) return wrong;
  if (state_ == State::kOpen) return take_answer(frame);
  take_challenge(frame);
  return nullptr;
}

void PeerLink::take_challenge(const PeerInput::Frame& frame) {
  std::copy_n(frame.body.begin(), kPeerNonceBytes, claim_.server_nonce.begin());
  const auto credential = frame.body.subspan(kPeerNonceBytes);
  state_ = State::kProving;
  const uint64_t connection = connection_;
  const bool is_added = chores_.proofs.add(
      [this, connection, claim = claim_, authority = options_.authority,
       text = std::string(credential.begin(),
                          credential.end())]() -> PeerChores::Then {
        auto proof = authority->open(text);
        if (proof && *proof != server_claim_text(claim)) {
          proof = Error{Code::kPermissionDenied, 0,
                        "speaks for another node or port, or has other data"};
        } else if (proof) {
          proof = authority->seal(client_claim_text(claim));
        }
        return [this, connection, proof = std::move(proof)] {
          if (connection == connection_) take_proof(proof, monotonic_ns());
        };
      });
  if (!is_added) step_deadline_ns_ = 0;
}

void PeerLink::take_proof(const Result<std::string>& proof, uint64_t now_ns) {
  if (!proof) {
    if (is_own_trouble(proof.error())) {
      leave_alone(Trouble::kLate, proof.error().message, now_ns);
    } else {
      try_next_port(now_ns, Trouble::kRefused, proof.error().message);
    }
    return;
  }
  output_.add({.kind = PeerKind::kProof}, {proof->begin(), proof->end()});
  state_ = State::kOpen;
  was_open_ = true;
  step_deadline_ns_ = UINT64_MAX;
  go_on(0, now_ns);
}

const char* PeerLink::take_answer(const PeerInput::Frame& frame) {
  const PeerHead& head = frame.head;
  if (head.kind == PeerKind::kSample &&
      peer_checksum(frame.body, head.label) != head.sum) {
    return kWrongSample;
  }
  const std::shared_ptr<PeerCall> call = std::move(asked_.front());
  asked_.pop_front();
  events_.answered(*call, head, frame.body);
  pause_ns_ = kFirstPause_ns;
  absent_pause_ns_ = kFirstAbsentPause_ns;
  return nullptr;
}

void PeerLink::fill_output() {
  for (; !calls_.empty(); calls_.pop_front()) {
    output_.add({.kind = PeerKind::kGet, .index = calls_.front()->index});
    asked_.push_back(std::move(calls_.front()));
  }
  while (!gifts_.empty() && output_.bytes() < kMostAhead_bytes) {
    PeerGift& gift = gifts_.front();
    PeerHead head{
        .kind = PeerKind::kPut, .index = gift.index, .label = gift.label};
    head.sum = peer_checksum(gift.sample, gift.label);
    ++puts_;
    put_bytes_ += gift.sample.size();
    output_.add(head, std::move(gift.sample));
    gifts_.pop_front();
  }
}

void PeerLink::send(uint64_t now_ns) {
  while (true) {
    if (state_ == State::kOpen) fill_output();
    const uint64_t before_bytes = output_.bytes();
    const PeerOutput::Sent sent = output_.send(fd_.get());
    if (sent == PeerOutput::Sent::kBroken) {
      leave_alone(Trouble::kLate, where() + ": " + kClosed, now_ns);
      return;
    }
    const bool has_moved = output_.bytes() < before_bytes;
    count_gone_gifts();
    if (puts_ == 0) {
      gift_deadline_ns_ = UINT64_MAX;
    } else if (has_moved || gift_deadline_ns_ == UINT64_MAX) {
      gift_deadline_ns_ = now_ns + options_.answer_ns;
    }
    if (sent == PeerOutput::Sent::kSome || state_ != State::kOpen ||
        gifts_.empty()) {
      return;
    }
  }
}

// Reports the puts that output_ has sent since the last call.
void PeerLink::count_gone_gifts() {
  if (output_.puts() == puts_) return;
  events_.gifts_gone(true, puts_ - output_.puts(),
                     put_bytes_ - output_.put_bytes());
  puts_ = output_.puts();
  put_bytes_ = output_.put_bytes();
}

}  // namespace penstock
