// Asks other nodes for samples: one connection to each, on which the askings of
// all threads are under way at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "loader/peer/peer_chores.h"
#include "loader/peer/peer_link.h"
#include "penstock/loader/cache_peers.h"

namespace penstock {

// Thread-safe, in the process that started it.
class PeerClient {
 public:
  // Gifts that wait: of all nodes, an equal part for each; and where one is
  // larger than its node's part.
  static constexpr uint64_t kGifts_bytes = 16 << 20;
  static constexpr uint64_t kMostGifts_bytes = 64 << 20;

  // warn: called once for each node and kind of trouble, in the client's
  // thread. Errors: kLimit  the system gives no thread or descriptor
  [[nodiscard]] static Result<std::unique_ptr<PeerClient>> start(
      const std::vector<std::string>& nodes, PeerLinkOptions options,
      std::function<void(const std::string& what)> warn);
  ~PeerClient();  // waits no longer than answer_ns for gifts to go
  PeerClient(const PeerClient&) = delete;
  PeerClient& operator=(const PeerClient&) = delete;

  // node: a number of nodes. False, at the latest after connect_ns and
  // answer_ns: the node does not have it, does not say, or is left alone.
  [[nodiscard]] bool get(size_t node, uint64_t index, std::vector<uint8_t>& out,
                         int64_t& label);
  void put(size_t node, uint64_t index, std::span<const uint8_t> sample,
           int64_t label);
  CachePeersCounters counters() const;

 private:
  struct Peer {
    uint64_t alone_until_ns = 0;                   // under mutex_
    std::vector<std::shared_ptr<PeerCall>> calls;  // likewise: new ones
    std::vector<PeerGift> gifts;                   // likewise
    uint64_t gift_bytes = 0;  // likewise: of those that are not gone yet
    bool has_warned[2] = {};  // of being late, and of what cannot be right
    std::unique_ptr<PeerLink> link;  // the thread's
  };
  PeerClient(PeerLinkOptions options,
             std::function<void(const std::string& what)> warn);
  PeerLink::Events events_of(size_t node);
  bool is_stopping();
  void run();
  void run_once(uint64_t until_ns);
  void hand_over();
  void finish(PeerCall& call, const PeerHead* head,
              std::span<const uint8_t> body);
  void leave_alone(size_t node, uint64_t until_ns, PeerLink::Trouble trouble,
                   const std::string& why);
  void wake_once();
  bool take_gift_room(size_t node, uint64_t bytes);
  void leave_gift_room(size_t node, uint64_t bytes);

  const PeerLinkOptions options_;
  const std::function<void(const std::string& what)> warn_;
  const std::shared_ptr<PeerWaker> waker_;
  LinkChores chores_;
  std::vector<Peer> peers_;
  std::mutex mutex_;
  bool is_woken_ = false;    // under mutex_
  bool stopping_ = false;    // likewise
  uint64_t gift_bytes_ = 0;  // likewise, of all nodes
  std::atomic<uint64_t> asked_ = 0;
  std::atomic<uint64_t> had_ = 0;
  std::atomic<uint64_t> failed_ = 0;
  std::atomic<uint64_t> refused_ = 0;
  std::atomic<uint64_t> given_ = 0;
  std::atomic<uint64_t> dropped_ = 0;
  std::thread thread_;
};

}  // namespace penstock
