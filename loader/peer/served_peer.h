// Server side of one connection from another node.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "loader/cache/cache_core.h"
#include "loader/peer/peer_authority.h"
#include "loader/peer/peer_chores.h"
#include "loader/peer/peer_wire.h"
#include "loader/peer/unforked_fd.h"

namespace penstock {

// State common to all connections of a server; for the server's thread.
struct PeerService {
  std::shared_ptr<SampleCache> cache;
  uint64_t fingerprint = 0;
  std::string node;
  uint16_t port = 0;
  std::shared_ptr<PeerAuthority> authority;
  uint64_t input_bytes = 0;   // reserved for samples being received
  uint64_t output_bytes = 0;  // queued for sending
  uint64_t served = 0;        // samples sent
  uint64_t taken = 0;         // samples received
  uint64_t refused = 0;       // connections with a wrong credential or invalid
                              // data
};

class ServedPeer {
 public:
  static constexpr uint64_t kProofTime_ns = 5000000000;  // to authenticate
  // See is_silent().
  static constexpr uint64_t kHelloTime_ns = 50000000;
  static constexpr uint64_t kAnswerTime_ns = 1000000000;
  static constexpr uint64_t kStallTime_ns = 5000000000;    // within a message
  static constexpr uint64_t kMostWaiting_bytes = 1 << 20;  // unsent output
  static constexpr uint64_t kKept_bytes = 64 << 10;  // buffer of an idle one
  // Sum over all connections, for each direction.
  static constexpr uint64_t kMostAll_bytes = 64 << 20;

  ServedPeer(UnforkedFd fd, PeerService& service, uint64_t now_ns);
  ~ServedPeer();
  ServedPeer(const ServedPeer&) = delete;
  ServedPeer& operator=(const ServedPeer&) = delete;

  int fd() const { return fd_.get(); }
  bool is_known() const { return state_ == State::kKnown; }
  // Not authenticated, and late with its hello (kHelloTime_ns after the
  // connection) or its proof (kAnswerTime_ns). It may be closed to make room.
  bool is_silent(uint64_t now_ns) const;
  short events() const;  // for poll(2)
  // Whether received requests can be answered without new socket events.
  bool wants_turn() const { return has_frames_ && may_read(); }
  // events: poll(2)'s. False, as of take_sealed() and take_opened(): close the
  // connection.
  [[nodiscard]] bool go_on(short events, uint64_t now_ns);
  bool is_late(uint64_t now_ns) const { return now_ns >= deadline_ns_; }
  uint64_t deadline_ns() const { return deadline_ns_; }

  // The munge call that the connection needs. Its result goes to take_sealed()
  // or take_opened().
  enum class Wanted { kNothing, kSeal, kOpen };
  Wanted wanted() const { return wanted_; }
  // Returns the text to seal or open, and resets wanted() to kNothing.
  std::string take_wanted();
  [[nodiscard]] bool take_sealed(const std::string& credential,
                                 uint64_t now_ns);
  [[nodiscard]] bool take_opened(const std::string& claim, uint64_t now_ns);

 private:
  enum class State { kHello, kSealing, kProof, kOpening, kKnown };
  bool handle_frames();
  bool handle(const PeerInput::Frame& frame);
  void handle_stranger(const PeerInput::Frame& frame);
  bool may_come(const PeerHead& head) const;
  bool answer(uint64_t index);
  bool take_put(const PeerInput::Frame& frame);
  void answer_miss(uint64_t index);
  bool take_begun();
  void set_reserved(uint64_t bytes);
  bool send(uint64_t now_ns);
  bool may_read() const;

  UnforkedFd fd_;
  PeerService& service_;
  State state_ = State::kHello;
  Wanted wanted_ = Wanted::kNothing;
  std::string wanted_text_;
  PeerClaim claim_;
  PeerInput input_{kKept_bytes};
  PeerOutput output_;
  bool has_frames_ = false;  // frames may wait in input_ until output_ drains
  uint64_t counted_output_bytes_ = 0;  // part of service_.output_bytes
  uint64_t reserved_bytes_ = 0;        // part of service_.input_bytes
  uint64_t deadline_ns_ = 0;           // UINT64_MAX: none
};

}  // namespace penstock
