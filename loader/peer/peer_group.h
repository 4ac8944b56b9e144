// Implementation of CachePeers: this node's part of a job's caches.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loader/peer/peer_authority.h"
#include "loader/peer/peer_client.h"
#include "loader/peer/peer_placement.h"
#include "loader/peer/peer_server.h"
#include "penstock/loader/cache_peers.h"
#include "penstock/loader/sample_cache.h"

namespace penstock {

class PeerGroup : public CachePeers {
 public:
  // open_cache_peers() with any authority; that function uses munge.
  [[nodiscard]] static Result<std::shared_ptr<PeerGroup>> open(
      const std::shared_ptr<SampleCache>& cache,
      const CachePeersOptions& options,
      const std::shared_ptr<PeerAuthority>& authority);
  ~PeerGroup() override;

  bool is_own(uint64_t index) const override {
    return placement_.owner(index) == self_;
  }
  bool get(uint64_t index, std::vector<uint8_t>& out, int64_t& label) override;
  void put(uint64_t index, std::span<const uint8_t> sample,
           int64_t label) override;
  CachePeersCounters counters() const override;

  const PeerServer& server() const { return *server_; }

 private:
  PeerGroup(const CachePeersOptions& options, size_t self);

  const PeerPlacement placement_;
  const size_t self_;
  const pid_t pid_;
  std::unique_ptr<PeerServer> server_;
  std::unique_ptr<PeerClient> client_;
};

}  // namespace penstock
