#include "loader/peer/peer_wire.h"

#include <algorithm>
#include <cstring>

#include "common/checksum.h"

namespace penstock {
namespace {

constexpr uint8_t kVersion = 1;
constexpr size_t kUsualRoom_bytes = 64 << 10;

void put_number(uint8_t* to, uint64_t number, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    to[i] = static_cast<uint8_t>(number >> 8 * i);
  }
}

uint64_t number_at(const uint8_t* from, size_t bytes) {
  uint64_t number = 0;
  for (size_t i = 0; i < bytes; ++i) number |= uint64_t{from[i]} << 8 * i;
  return number;
}

struct BodyRange {
  uint32_t least = 1;
  uint32_t most = 0;  // < least: unknown kind
};

BodyRange body_of(PeerKind kind) {
  switch (kind) {
    case PeerKind::kHello:
      return {kPeerNonceBytes, kPeerNonceBytes};
    case PeerKind::kChallenge:
      return {kPeerNonceBytes + 1, kPeerNonceBytes + kMostCredentialBytes};
    case PeerKind::kProof:
      return {1, kMostCredentialBytes};
    case PeerKind::kGet:
    case PeerKind::kMiss:
      return {0, 0};
    case PeerKind::kSample:
    case PeerKind::kPut:
      return {1, kMostPeerSampleBytes};
  }
  return {};
}

std::string hex(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string claim_text(const char* role, const PeerClaim& claim) {
  return std::string("penstock cache peer 1\n") + role + "\n" +
         hex(claim.client_nonce) + "\n" + hex(claim.server_nonce) + "\n" +
         std::to_string(claim.fingerprint) + "\n" +
         std::to_string(claim.samples) + "\n" + std::to_string(claim.port) +
         "\n" + claim.node;
}

}  // namespace

PeerHeadBytes encode_peer_head(const PeerHead& head) {
  PeerHeadBytes bytes{'P', 'S', kVersion, static_cast<uint8_t>(head.kind)};
  put_number(&bytes[4], head.bytes, 4);
  put_number(&bytes[8], head.index, 8);
  put_number(&bytes[16], static_cast<uint64_t>(head.label), 8);
  put_number(&bytes[24], head.sum, 8);
  return bytes;
}

Result<PeerHead> parse_peer_head(
    std::span<const uint8_t, kPeerHeadBytes> bytes) {
  if (bytes[0] != 'P' || bytes[1] != 'S' || bytes[2] != kVersion) {
    return invalid("no message of this version's");
  }
  PeerHead head;
  head.kind = static_cast<PeerKind>(bytes[3]);
  head.bytes = static_cast<uint32_t>(number_at(&bytes[4], 4));
  head.index = number_at(&bytes[8], 8);
  head.label = static_cast<int64_t>(number_at(&bytes[16], 8));
  head.sum = number_at(&bytes[24], 8);
  const BodyRange range = body_of(head.kind);
  if (head.bytes < range.least || head.bytes > range.most) {
    return invalid("a message of kind " + std::to_string(bytes[3]) + " and " +
                   std::to_string(head.bytes) + " bytes");
  }
  return head;
}

uint64_t peer_checksum(std::span<const uint8_t> body, int64_t label) {
  return checksum({reinterpret_cast<const char*>(body.data()), body.size()},
                  static_cast<uint64_t>(label));
}

std::span<uint8_t> PeerInput::room() {
  if (begin_ == end_) {
    begin_ = end_ = 0;
  } else if (begin_ > 0) {
    std::memmove(buffer_.data(), &buffer_[begin_], end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  size_t wanted = std::max(buffer_.size(), kUsualRoom_bytes);
  if (begun_ && end_ == buffer_.size()) {
    wanted =
        std::max(wanted, std::min(2 * end_, begun_->bytes + kPeerHeadBytes));
  }
  if (wanted == end_) wanted += kUsualRoom_bytes;
  if (wanted > buffer_.size()) {
    buffer_.reserve(wanted);  // resize() alone would double the capacity
    buffer_.resize(wanted);
  }
  return std::span(buffer_).subspan(end_);
}

Result<std::optional<PeerInput::Frame>> PeerInput::next() {
  const size_t skipped = std::min(skip_bytes_, end_ - begin_);
  begin_ += skipped;
  skip_bytes_ -= skipped;
  begun_.reset();
  if (begin_ == end_ && buffer_.size() > kept_bytes_) {
    std::vector<uint8_t>().swap(buffer_);
    begin_ = end_ = 0;
  }
  if (skip_bytes_ > 0 || end_ - begin_ < kPeerHeadBytes) {
    return std::optional<Frame>();
  }
  auto head = parse_peer_head(std::span<const uint8_t, kPeerHeadBytes>(
      &buffer_[begin_], kPeerHeadBytes));
  if (!head) return std::move(head).error();
  if (end_ - begin_ - kPeerHeadBytes < head->bytes) {
    begun_ = *head;
    return std::optional<Frame>();
  }
  const Frame frame{*head,
                    {buffer_.data() + begin_ + kPeerHeadBytes, head->bytes}};
  begin_ += kPeerHeadBytes + head->bytes;
  return std::optional<Frame>(frame);
}

void PeerInput::skip_begun() {
  skip_bytes_ = kPeerHeadBytes + begun_->bytes;
  const size_t skipped = end_ - begin_;
  begin_ = end_;
  skip_bytes_ -= skipped;
  begun_.reset();
}

std::string server_claim_text(const PeerClaim& claim) {
  return claim_text("server", claim);
}

std::string client_claim_text(const PeerClaim& claim) {
  return claim_text("client", claim);
}

}  // namespace penstock
