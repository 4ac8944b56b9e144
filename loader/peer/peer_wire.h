// Protocol between nodes that share their caches: frames, each a head of 32
// bytes and a body.
//
//   client                         server
//   hello: nonce               ->
//                              <-  challenge: nonce, credential
//   proof: credential          ->
//   get: index                 ->
//                              <-  sample, or miss: in the order of the gets
//   put: index, label, bytes   ->
//
// Head, little-endian: "PS", version, kind; body size (4); index (8); label
// (8); checksum of the body, seeded with the label (8). Unused fields are 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/result.h"

namespace penstock {

enum class PeerKind : uint8_t {
  kHello = 1,
  kChallenge = 2,
  kProof = 3,
  kGet = 4,
  kSample = 5,
  kMiss = 6,
  kPut = 7,
};

struct PeerHead {
  PeerKind kind = PeerKind::kMiss;
  uint32_t bytes = 0;  // of the body
  uint64_t index = 0;
  int64_t label = 0;
  uint64_t sum = 0;
};

inline constexpr size_t kPeerHeadBytes = 32;
inline constexpr size_t kPeerNonceBytes = 16;
inline constexpr uint32_t kMostCredentialBytes = 8192;
// Larger samples are not sent.
inline constexpr uint32_t kMostPeerSampleBytes = 64 << 20;

using PeerNonce = std::array<uint8_t, kPeerNonceBytes>;
using PeerHeadBytes = std::array<uint8_t, kPeerHeadBytes>;

PeerHeadBytes encode_peer_head(const PeerHead& head);
// Errors: kInvalidArgument  not a head; a body size not allowed for its kind
[[nodiscard]] Result<PeerHead> parse_peer_head(
    std::span<const uint8_t, kPeerHeadBytes> bytes);

uint64_t peer_checksum(std::span<const uint8_t> body, int64_t label);

// Splits a byte stream into frames. Memory grows with the bytes received, at
// most doubling them, never to the size that a head merely announces.
class PeerInput {
 public:
  struct Frame {
    PeerHead head;
    std::span<const uint8_t> body;  // valid until the next room() or next()
  };

  // kept_bytes: buffer kept while no part of a frame is present.
  explicit PeerInput(size_t kept_bytes = 1 << 20) : kept_bytes_(kept_bytes) {}

  // Space for received bytes; never empty.
  std::span<uint8_t> room();
  // Adds bytes written to room(). REQUIRES: bytes <= the last room().size().
  void add(size_t bytes) { end_ += bytes; }
  // The next complete frame; nullopt: none yet.
  // Errors: those of parse_peer_head(); later calls fail alike
  [[nodiscard]] Result<std::optional<Frame>> next();
  // Head of the incomplete frame that next() found.
  const std::optional<PeerHead>& begun() const { return begun_; }
  // Skips that frame, also what is still to come of it.
  // REQUIRES: begun().
  void skip_begun();
  // Whether a part of a frame has been received.
  bool is_within() const { return skip_bytes_ > 0 || begin_ < end_; }

 private:
  size_t kept_bytes_;
  std::vector<uint8_t> buffer_;
  size_t begin_ = 0;  // of the bytes that next() has not returned
  size_t end_ = 0;
  size_t skip_bytes_ = 0;
  std::optional<PeerHead> begun_;
};

// Queue of frames to send.
class PeerOutput {
 public:
  enum class Sent { kAll, kSome, kBroken };

  // Sets head.bytes to the body's size.
  void add(PeerHead head, std::vector<uint8_t> body = {});
  // Sends as much as the socket accepts, several frames per call.
  Sent send(int fd);
  uint64_t bytes() const { return bytes_; }  // not sent yet
  // Puts that are not sent completely: number, and bytes of their bodies.
  uint64_t puts() const { return puts_; }
  uint64_t put_bytes() const { return put_bytes_; }

 private:
  struct Piece {
    PeerHeadBytes head;
    std::vector<uint8_t> body;
    bool is_put = false;
  };
  void take_off(size_t bytes);

  std::deque<Piece> pieces_;
  size_t sent_bytes_ = 0;  // of the first piece
  uint64_t bytes_ = 0;
  uint64_t puts_ = 0;
  uint64_t put_bytes_ = 0;
};

// Contents of a credential: the connection, the data, and the server. The text
// adds the sender's role.
struct PeerClaim {
  PeerNonce client_nonce{};
  PeerNonce server_nonce{};
  uint64_t fingerprint = 0;  // of the data set
  uint64_t samples = 0;
  std::string node;   // the server's
  uint16_t port = 0;  // of the server
};
std::string server_claim_text(const PeerClaim& claim);
std::string client_claim_text(const PeerClaim& claim);

}  // namespace penstock
