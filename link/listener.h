// A controller's end of its connections with agents and commands: a ZeroMQ
// ROUTER on TCP with bounded memory. Not thread-safe: belongs to one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/result.h"
#include "common/unique_fd.h"
#include "link/credential.h"
#include "link/strangers.h"
#include "link/tcp_socket.h"
#include "wire/zmtp.h"

namespace penstock {

// Anyone who reaches the port may connect. Until the owner calls prove(), a
// peer is a stranger: strangers share Limits' connections and memory
// (strangers.h) and are read only while no proved peer has sent anything.
class Listener {
 public:
  struct Limits {
    size_t strangers = 2048;            // connections
    size_t stranger_bytes = 32u << 20;  // unfinished messages, unsent answers
    size_t unsent_bytes = 8u << 20;     // of one peer
  };

  // Errors: kUnavailable  names the address and the reason
  static Result<Listener> listen(const ListenAddress& address,
                                 const Limits& limits);
  static Result<Listener> listen(const ListenAddress& address) {
    return listen(address, Limits{});
  }

  struct Message {
    uint64_t route = 0;  // its connection, never 0
    std::string text;
  };
  // Reads from some connections, and closes those without heartbeats.
  // Errors: kUnavailable      nothing to return now; ask again while ready_fd()
  //                           is readable, and every second
  //         others            ZmtpReader's, with the peer's address: that
  //                           connection is closed
  [[nodiscard]] Result<Message> receive();
  // Readable (level-triggered) while receive() has something to do.
  int ready_fd() const { return ready_.get(); }

  // Sends without waiting.
  // Errors: kUnavailable  the connection is closed, or its queue is full
  [[nodiscard]] Status send(uint64_t route, std::string_view text);

  void prove(uint64_t route);
  // Closes the connection unless it is proved.
  void drop_stranger(uint64_t route);

  int port() const { return port_of(listening_.front().get()); }
  size_t connections() const { return peers_.size(); }

 private:
  struct Peer {
    UniqueFd fd;
    std::string network;
    ZmtpReader reader{kMaxCredentialBytes};
    double heard_s = 0;
    std::string unsent;
    bool is_proved = false;
  };
  using Peers = std::unordered_map<uint64_t, Peer>;  // by route

  explicit Listener(const Limits& limits)
      : limits_(limits), strangers_(limits.strangers, limits.stranger_bytes) {}

  [[nodiscard]] Status open(const ListenAddress& address);
  void serve(int epoll, int at_once);
  void accept_some(int listening);
  void add_peer(AcceptedSocket accepted);
  void close_excess();
  void pause_accepting();
  void read(uint64_t route);
  [[nodiscard]] Status take(uint64_t route, Peer& peer, std::string_view bytes);
  void flush(uint64_t route, Peer& peer);
  void watch(uint64_t route, const Peer& peer, int operation);
  void account(uint64_t route, const Peer& peer);
  void close(uint64_t route);
  void mind_time(double now_s);

  Limits limits_;
  Strangers strangers_;
  UniqueFd ready_;         // epoll of the next two
  UniqueFd of_proved_;     // epoll of proved peers and listening sockets
  UniqueFd of_strangers_;  // epoll of strangers
  std::vector<UniqueFd> listening_;
  bool is_accepting_ = true;  // false: a lack of descriptors or memory
  Peers peers_;
  uint64_t last_route_ = 0;
  // Read, and not returned yet.
  std::deque<Message> from_proved_, from_strangers_;
  std::deque<Error> faults_;
  std::vector<char> buffer_;
  double minded_s_ = 0;
};

}  // namespace penstock
