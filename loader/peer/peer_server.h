// Serves a node's cache to the job's other nodes.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/waker.h"
#include "loader/peer/peer_chores.h"
#include "loader/peer/peer_socket.h"
#include "loader/peer/served_peer.h"

namespace penstock {

// A thread in each process that uses the cache with peers. One process at a
// time serves; when it ends, another one takes over within kTakeOver_ms.
class PeerServer {
 public:
  static constexpr int kTakeOver_ms = 500;
  static constexpr size_t kMostPeers = 1024;    // connections
  static constexpr size_t kMostStrangers = 64;  // unauthenticated connections
  struct Options {
    std::string node;
    std::string address;
    std::vector<uint16_t> ports;
    std::function<void(const std::string& what)> warn;
  };

  // Errors: kLimit        no descriptor available
  //         kUnavailable  no thread available
  [[nodiscard]] static Result<std::unique_ptr<PeerServer>> start(
      std::shared_ptr<SampleCache> cache,
      std::shared_ptr<PeerAuthority> authority, Options options);
  // REQUIRES: runs in the process that called start().
  ~PeerServer();
  PeerServer(const PeerServer&) = delete;
  PeerServer& operator=(const PeerServer&) = delete;

  uint16_t port() const { return port_; }  // 0: another process serves
  uint64_t served() const { return served_; }
  uint64_t taken() const { return taken_; }
  uint64_t refused() const { return refused_; }

 private:
  PeerServer(std::shared_ptr<SampleCache> cache,
             std::shared_ptr<PeerAuthority> authority, Options options);
  void run();
  bool try_to_serve();
  void wait_for_turn();
  void serve_once();
  void accept_all(uint64_t now_ns);
  void go_on_with(uint64_t id, short events, uint64_t now_ns);
  void ask_authority(uint64_t id);
  void take_answer(uint64_t id, bool is_sealed,
                   const Result<std::string>& answer);
  void close_late(uint64_t now_ns);
  size_t strangers() const;
  bool make_room(uint64_t now_ns);
  void publish_counters();

  const Options options_;
  PeerService service_;
  const std::shared_ptr<Waker> waker_;
  PeerChores chores_;
  UnforkedFd lock_;
  UnforkedFd listener_;
  std::map<uint64_t, std::unique_ptr<ServedPeer>> peers_;
  uint64_t next_id_ = 0;
  uint64_t accept_from_ns_ = 0;
  bool has_warned_ = false;
  std::atomic<bool> stopping_ = false;
  std::atomic<uint16_t> port_ = 0;
  std::atomic<uint64_t> served_ = 0;
  std::atomic<uint64_t> taken_ = 0;
  std::atomic<uint64_t> refused_ = 0;
  std::thread thread_;
};

}  // namespace penstock
