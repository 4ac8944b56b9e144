// What nodes that share their caches say to each other: frames, each a head of
// 32 bytes and a body.
//
//   client                         server
//   hello: nonce               ->
//                              <-  challenge: nonce, credential
//   proof: credential          ->
//   get: index                 ->
//                              <-  sample, or miss: in the order of the gets
//   put: index, label, bytes   ->
//
// A head, little-endian: "PS", version, kind; bytes of the body (4); index (8),
// label (8), checksum of the body with the label for its seed (8), each 0 where
// it means nothing.
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
// Larger samples do not travel.
inline constexpr uint32_t kMostPeerSampleBytes = 64 << 20;

using PeerNonce = std::array<uint8_t, kPeerNonceBytes>;
using PeerHeadBytes = std::array<uint8_t, kPeerHeadBytes>;

PeerHeadBytes encode_peer_head(const PeerHead& head);
// Errors: kInvalidArgument  no head, or a body of a length that its kind does
//         not have
[[nodiscard]] Result<PeerHead> parse_peer_head(
    std::span<const uint8_t, kPeerHeadBytes> bytes);

uint64_t peer_checksum(std::span<const uint8_t> body, int64_t label);

// Frames out of a stream, however it is cut. Takes memory for what has come,
// never for what a head only says.
class PeerInput {
 public:
  struct Frame {
    PeerHead head;
    std::span<const uint8_t> body;  // until the next room() or next()
  };

  // kept_bytes: of memory, while nothing of a frame is there.
  explicit PeerInput(size_t kept_bytes = 1 << 20) : kept_bytes_(kept_bytes) {}

  // Where what comes next belongs; never empty.
  std::span<uint8_t> room();
  // REQUIRES: bytes <= room().size(), since the last room().
  void add(size_t bytes) { end_ += bytes; }
  // The next whole frame; nullopt: none yet.
  // Errors: those of parse_peer_head(), from then on
  [[nodiscard]] Result<std::optional<Frame>> next();
  // Of the frame that next() did not find whole: what it will be.
  const std::optional<PeerHead>& begun() const { return begun_; }
  // Its body is passed over.
  // REQUIRES: begun().
  void skip_begun();
  // Something of a frame has come.
  bool is_within() const { return skip_bytes_ > 0 || begin_ < end_; }

 private:
  size_t kept_bytes_;
  std::vector<uint8_t> buffer_;
  size_t begin_ = 0;  // what was not given yet
  size_t end_ = 0;
  size_t skip_bytes_ = 0;
  std::optional<PeerHead> begun_;
};

// Frames on their way out.
class PeerOutput {
 public:
  enum class Sent { kAll, kSome, kBroken };

  // head's bytes are set to the body's.
  void add(PeerHead head, std::vector<uint8_t> body = {});
  // As many as the socket takes, several at once.
  Sent send(int fd);
  uint64_t bytes() const { return bytes_; }  // not sent yet
  // Of those, puts: how many, and bytes of their bodies.
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
  size_t sent_bytes_ = 0;  // of the first
  uint64_t bytes_ = 0;
  uint64_t puts_ = 0;
  uint64_t put_bytes_ = 0;
};

// What a credential says: who speaks, in which connection, and of what.
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
