// Gets samples from other nodes' caches and puts samples into them. Each node
// has one connection, on which the requests of all threads are pipelined.
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

#include "common/waker.h"
#include "loader/peer/peer_chores.h"
#include "loader/peer/peer_link.h"
#include "penstock/loader/cache_peers.h"

namespace penstock {

// Thread-safe; only for the process that started it.
class PeerClient {
 public:
  // Limits of queued puts ("gifts"). kGifts_bytes is divided equally among the
  // nodes. One gift per node may exceed its part, if the sum of all stays
  // within kMostGifts_bytes.
  static constexpr uint64_t kGifts_bytes = 16 << 20;
  static constexpr uint64_t kMostGifts_bytes = 64 << 20;

  // warn: called in the client's thread, once for each node and kind of
  // trouble.
  // Errors: kLimit        no descriptor available
  //         kUnavailable  no thread available
  [[nodiscard]] static Result<std::unique_ptr<PeerClient>> start(
      const std::vector<std::string>& nodes, PeerLinkOptions options,
      std::function<void(const std::string& what)> warn);
  ~PeerClient();  // waits at most answer_ns for queued gifts to be sent
  PeerClient(const PeerClient&) = delete;
  PeerClient& operator=(const PeerClient&) = delete;

  // node: index into start()'s nodes. Returns within connect_ns + answer_ns
  // (and 50 ms if the client's thread gets no CPU). False: the node does not
  // have the sample, did not answer, or is in backoff.
  [[nodiscard]] bool get(size_t node, uint64_t index, std::vector<uint8_t>& out,
                         int64_t& label);
  // Queues a sample for the node, or drops it if the queue is full.
  void put(size_t node, uint64_t index, std::span<const uint8_t> sample,
           int64_t label);
  CachePeersCounters counters() const;

 private:
  struct Peer {
    // The first four are guarded by mutex_.
    uint64_t alone_until_ns = 0;                   // end of the backoff
    std::vector<std::shared_ptr<PeerCall>> calls;  // new ones
    std::vector<PeerGift> gifts;                   // new ones
    uint64_t gift_bytes = 0;                       // queued or being sent
    bool has_warned[2] = {};                       // late; invalid data
    std::unique_ptr<PeerLink> link;  // only for the client's thread
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
  const std::shared_ptr<Waker> waker_;
  LinkChores chores_;
  std::vector<Peer> peers_;
  std::mutex mutex_;
  bool is_woken_ = false;    // guarded by mutex_
  bool stopping_ = false;    // likewise
  uint64_t gift_bytes_ = 0;  // likewise; sum over all nodes
  std::atomic<uint64_t> asked_ = 0;
  std::atomic<uint64_t> had_ = 0;
  std::atomic<uint64_t> failed_ = 0;
  std::atomic<uint64_t> refused_ = 0;
  std::atomic<uint64_t> given_ = 0;
  std::atomic<uint64_t> dropped_ = 0;
  std::thread thread_;
};

}  // namespace penstock
