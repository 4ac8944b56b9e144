// State that all threads of a node's ranks need for reading: the ring, and the
// other processes.
#pragma once

#include <cstdint>
#include <vector>

#include "common/result.h"
#include "loader/lmdb/mpi/node_ring.h"
#include "loader/lmdb/mpi/peer_watch.h"
#include "loader/lmdb/mpi/reader_world.h"

namespace penstock::lmdb {

// The caller owns `world`. Thread-safe, except listen().
class NodeShare {
 public:
  NodeShare(ReaderWorld& world, const NodeRing& ring,
            const std::vector<PeerProcess>& peers)
      : world_(world), ring_(ring), watch_(peers) {}

  NodeRing& ring() { return ring_; }
  ReaderWorld& world() { return world_; }

  // Ends the run on this node with the error, and notifies the other nodes.
  void fail(const Error& error);
  // Closes this rank: ranks of the node that still wait get an error.
  void close();
  bool is_failed() const;

  // Errors: kUnavailable  a rank of the node has died
  [[nodiscard]] Status find_dead() const;
  // For waits: returns the ring's state; a dead rank ends the run.
  [[nodiscard]] Status look();
  // Takes over a failure that another node has posted. For one thread of the
  // leader.
  void listen();

 private:
  ReaderWorld& world_;
  NodeRing ring_;
  PeerWatch watch_;
};

}  // namespace penstock::lmdb
