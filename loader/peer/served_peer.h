// One connection of a process that another node's asks for samples.
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

// What all connections of a server have in common; for the server's thread.
struct PeerService {
  std::shared_ptr<SampleCache> cache;
  uint64_t fingerprint = 0;
  std::string node;
  uint16_t port = 0;
  std::shared_ptr<PeerAuthority> authority;
  uint64_t input_bytes = 0;   // of samples that are coming
  uint64_t output_bytes = 0;  // of samples that are going
  uint64_t served = 0;        // samples
  uint64_t taken = 0;         // samples that came
  uint64_t refused = 0;       // connections that did not show who they are, or
                              // said what cannot be
};

class ServedPeer {
 public:
  static constexpr uint64_t kProofTime_ns = 5000000000;
  static constexpr uint64_t kHelloTime_ns = 50000000;     // before it makes
  static constexpr uint64_t kAnswerTime_ns = 1000000000;  // room for another
  static constexpr uint64_t kStallTime_ns = 5000000000;   // within a message
  static constexpr uint64_t kMostWaiting_bytes = 1 << 20;
  static constexpr uint64_t kKept_bytes = 64 << 10;     // while it is idle
  static constexpr uint64_t kMostAll_bytes = 64 << 20;  // of all, each way

  ServedPeer(UnforkedFd fd, PeerService& service, uint64_t now_ns);
  ~ServedPeer();
  ServedPeer(const ServedPeer&) = delete;
  ServedPeer& operator=(const ServedPeer&) = delete;

  int fd() const { return fd_.get(); }
  bool is_known() const { return state_ == State::kKnown; }
  // It is not known, and has let its turn to speak pass.
  bool is_silent(uint64_t now_ns) const;
  short events() const;  // for poll(2)
  // It has been asked more already than it has answered, and can go on without
  // anything from the socket.
  bool wants_turn() const { return has_frames_ && may_read(); }
  // What poll(2) found. False: it is to be closed; so with the others.
  [[nodiscard]] bool go_on(short events, uint64_t now_ns);
  bool is_late(uint64_t now_ns) const { return now_ns >= deadline_ns_; }
  uint64_t deadline_ns() const { return deadline_ns_; }

  // What has to be asked munged for: the chore itself, and what the
  // connection does with the answer.
  enum class Wanted { kNothing, kSeal, kOpen };
  Wanted wanted() const { return wanted_; }
  // What is to be sealed, or opened. It is not wanted any more then.
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
  bool has_frames_ = false;            // in input_, which waited for output_
  uint64_t counted_output_bytes_ = 0;  // in the service's
  uint64_t reserved_bytes_ = 0;        // likewise, of input
  uint64_t deadline_ns_ = 0;           // UINT64_MAX: none
};

}  // namespace penstock
