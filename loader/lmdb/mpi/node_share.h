// What every thread of a node's ranks needs while they read: the ring, and who
// else is there.
#pragma once

#include <cstdint>
#include <vector>

#include "common/result.h"
#include "loader/lmdb/mpi/node_ring.h"
#include "loader/lmdb/mpi/peer_watch.h"
#include "loader/lmdb/mpi/reader_world.h"

namespace penstock::lmdb {

// world is the caller's. Thread-safe, but for listen().
class NodeShare {
 public:
  NodeShare(ReaderWorld& world, const NodeRing& ring,
            const std::vector<PeerProcess>& peers)
      : world_(world), ring_(ring), watch_(peers) {}

  NodeRing& ring() { return ring_; }
  ReaderWorld& world() { return world_; }

  // Ends the run on this node with the error, and tells the other nodes.
  void fail(const Error& error);
  // This rank is closing: others that still wait get an error.
  void close();
  bool is_failed() const;

  // Errors: kUnavailable  a rank of the node has died
  [[nodiscard]] Status find_dead() const;
  // For waits: the state; a rank that has died is a failure of the node's.
  [[nodiscard]] Status look();
  // Takes over what another node has posted. One thread of the leader.
  void listen();

 private:
  ReaderWorld& world_;
  NodeRing ring_;
  PeerWatch watch_;
};

}  // namespace penstock::lmdb
