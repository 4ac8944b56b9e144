// This process's connection to one other node, with its queued requests.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loader/peer/peer_authority.h"
#include "loader/peer/peer_chores.h"
#include "loader/peer/peer_socket.h"
#include "loader/peer/peer_wire.h"

namespace penstock {

// A get request that a thread waits for. All but index and deadline_ns is
// guarded by the client's mutex.
struct PeerCall {
  uint64_t index = 0;
  uint64_t deadline_ns = 0;
  bool is_over = false;
  bool is_there = false;
  std::vector<uint8_t> sample;
  int64_t label = 0;
  std::condition_variable over;
};

// A sample to put into the cache of its owner node.
struct PeerGift {
  uint64_t index = 0;
  int64_t label = 0;
  std::vector<uint8_t> sample;
};

// Options common to all links of a client.
struct PeerLinkOptions {
  std::vector<uint16_t> ports;
  uint64_t connect_ns = 0;
  uint64_t answer_ns = 0;
  uint64_t fingerprint = 0;
  uint64_t samples = 0;
  uint64_t sample_bytes = 0;  // size of every sample; 0: any size
  std::shared_ptr<PeerAuthority> authority;
};

// Two threads: a hanging name lookup must not delay proofs for other nodes.
struct LinkChores {
  PeerChores names;
  PeerChores proofs;  // munge credentials
};

// For the client's thread only.
class PeerLink {
 public:
  static constexpr uint64_t kFirstPause_ns = 1000000000;
  static constexpr uint64_t kMostPause_ns = 30000000000;
  static constexpr uint64_t kFirstAbsentPause_ns = 20000000;
  static constexpr uint64_t kMostAbsentPause_ns = 1000000000;

  // Reason for a backoff.
  enum class Trouble {
    kAbsent,   // connection refused: nobody listens
    kLate,     // no answer in time, or the connection broke
    kRefused,  // invalid data, or a wrong credential
  };
  // Callbacks to the client.
  struct Events {
    std::function<void(PeerCall& call, const PeerHead& head,
                       std::span<const uint8_t> body)>
        answered;  // head.kind is kSample or kMiss
    std::function<void(PeerCall& call)> failed;
    std::function<void(uint64_t until_ns, Trouble trouble,
                       const std::string& why)>
        left_alone;
    std::function<void(bool is_sent, uint64_t samples, uint64_t bytes)>
        gifts_gone;
  };

  PeerLink(std::string node, const PeerLinkOptions& options, LinkChores& chores,
           Events events);

  void ask(std::shared_ptr<PeerCall> call);
  void give(PeerGift gift);

  // For poll(2); -1: do not poll.
  int fd() const { return state_ == State::kProving ? -1 : fd_.get(); }
  short events() const;
  // Handles poll(2)'s events, sends, and fails overdue requests.
  void go_on(short events, uint64_t now_ns);
  // Whether gifts are being sent or wait for a connection in progress.
  bool is_giving() const { return fd_ && (puts_ > 0 || !gifts_.empty()); }
  // Latest time of the next go_on().
  uint64_t deadline_ns() const;

 private:
  enum class State {
    kIdle,
    kResolving,
    kConnecting,
    kGreeting,
    kProving,
    kOpen
  };
  bool has_work() const { return !calls_.empty() || !gifts_.empty(); }
  void begin(uint64_t now_ns);
  void resolve(uint64_t now_ns);
  void connect(uint64_t now_ns);
  void take_connection(uint64_t now_ns);
  void try_next_port(uint64_t now_ns, Trouble trouble, const std::string& why);
  // False: the connection was given up, for a backoff or the next port.
  bool receive_all(uint64_t now_ns);
  bool take_end(uint64_t now_ns);
  bool take_frames(uint64_t now_ns);
  // Why the frame, its head or the answer is invalid; nullptr: it is valid.
  const char* take_frame(const PeerInput::Frame& frame);
  const char* wrong_in(const PeerHead& head) const;
  void take_challenge(const PeerInput::Frame& frame);
  void take_proof(const Result<std::string>& proof, uint64_t now_ns);
  const char* take_answer(const PeerInput::Frame& frame);
  void fill_output();
  void send(uint64_t now_ns);
  void count_gone_gifts();
  void close();
  void leave_alone(Trouble trouble, const std::string& why, uint64_t now_ns);
  std::string where() const;

  const std::string node_;
  const PeerLinkOptions& options_;
  LinkChores& chores_;
  const Events events_;

  State state_ = State::kIdle;
  std::optional<PeerAddress> address_;
  bool is_looked_up_ = false;  // a name lookup is in progress
  UnforkedFd fd_;
  size_t port_ = 0;  // index into options_.ports
  size_t tried_ports_ = 0;
  Trouble worst_ = Trouble::kAbsent;  // over the ports tried
  std::string worst_why_;
  uint64_t connection_ = 0;  // a proof of an older connection is ignored
  PeerClaim claim_;
  PeerInput input_;
  PeerOutput output_;
  uint64_t puts_ = 0;                            // in output_, last known
  uint64_t put_bytes_ = 0;                       // likewise
  std::deque<std::shared_ptr<PeerCall>> calls_;  // not sent yet
  std::deque<std::shared_ptr<PeerCall>> asked_;  // sent, in order of replies
  std::deque<PeerGift> gifts_;                   // not sent yet
  uint64_t step_deadline_ns_ = UINT64_MAX;       // of the connection's set-up
  uint64_t gift_deadline_ns_ = UINT64_MAX;       // of progress in sending puts
  uint64_t pause_ns_ = kFirstPause_ns;
  uint64_t absent_pause_ns_ = kFirstAbsentPause_ns;
  uint64_t alone_until_ns_ = 0;
  bool was_open_ = false;
};

}  // namespace penstock
