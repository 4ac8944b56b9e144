// The connection of this process to one other node, and what waits for it.
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

// A sample that a thread waits for. But for what it asks, under its client's
// lock.
struct PeerCall {
  uint64_t index = 0;
  uint64_t deadline_ns = 0;
  bool is_over = false;
  bool is_there = false;
  std::vector<uint8_t> sample;
  int64_t label = 0;
  std::condition_variable over;
};

struct PeerGift {
  uint64_t index = 0;
  int64_t label = 0;
  std::vector<uint8_t> sample;
};

// What all links of a client have in common.
struct PeerLinkOptions {
  std::vector<uint16_t> ports;
  uint64_t connect_ns = 0;
  uint64_t answer_ns = 0;
  uint64_t fingerprint = 0;
  uint64_t samples = 0;
  uint64_t sample_bytes = 0;  // 0: any
  std::shared_ptr<PeerAuthority> authority;
};

// A name that hangs must not hold up the proofs for other nodes.
struct LinkChores {
  PeerChores names;
  PeerChores proofs;  // munge's
};

// For its client's thread, but for what is noted.
class PeerLink {
 public:
  static constexpr uint64_t kFirstPause_ns = 1000000000;
  static constexpr uint64_t kMostPause_ns = 30000000000;
  static constexpr uint64_t kFirstAbsentPause_ns = 20000000;
  static constexpr uint64_t kMostAbsentPause_ns = 1000000000;

  // Why a node is left alone.
  enum class Trouble {
    kAbsent,   // nobody listens there: this costs nothing
    kLate,     // it has not answered in time, or went away
    kRefused,  // what it said cannot be right
  };
  // What the link tells its client.
  struct Events {
    std::function<void(PeerCall& call, const PeerHead& head,
                       std::span<const uint8_t> body)>
        answered;  // kSample or kMiss
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

  // -1: not to be waited for.
  int fd() const { return state_ == State::kProving ? -1 : fd_.get(); }
  short events() const;
  // Does what can be done now, and fails what is too late.
  void go_on(short events, uint64_t now_ns);
  // Gifts are on their way, or wait for a connection that is being made.
  bool is_giving() const { return fd_ && (puts_ > 0 || !gifts_.empty()); }
  // When go_on() has to be called again at the latest.
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
  // False: it is not connected any more, and left alone or at another port.
  bool receive_all(uint64_t now_ns);
  bool take_end(uint64_t now_ns);
  bool take_frames(uint64_t now_ns);
  // What is wrong with it, its head or an answer; nullptr: nothing.
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
  bool is_looked_up_ = false;  // just now
  UnforkedFd fd_;
  size_t port_ = 0;  // which of options_.ports
  size_t tried_ports_ = 0;
  Trouble worst_ = Trouble::kAbsent;  // of those that were tried
  std::string worst_why_;
  uint64_t connection_ = 0;  // counts them, for chores that come too late
  PeerClaim claim_;
  PeerInput input_;
  PeerOutput output_;
  uint64_t puts_ = 0;                            // in output_, when last seen
  uint64_t put_bytes_ = 0;                       // likewise
  std::deque<std::shared_ptr<PeerCall>> calls_;  // not sent yet
  std::deque<std::shared_ptr<PeerCall>> asked_;  // in the order of the answers
  std::deque<PeerGift> gifts_;                   // not sent yet
  uint64_t step_deadline_ns_ = UINT64_MAX;       // until it is open
  uint64_t gift_deadline_ns_ = UINT64_MAX;       // by when some have to go
  uint64_t pause_ns_ = kFirstPause_ns;
  uint64_t absent_pause_ns_ = kFirstAbsentPause_ns;
  uint64_t alone_until_ns_ = 0;
  bool was_open_ = false;
};

}  // namespace penstock
