// The ranks of a run and their nodes, and messages between nodes about failures
// and turns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "loader/lmdb/mpi/batch_plan.h"
#include "loader/lmdb/mpi/patient_comm.h"
#include "loader/lmdb/mpi/token_order.h"

namespace penstock::lmdb {

class ReaderWorld {
 public:
  // Collective over world, of which it keeps a duplicate. Call find_node() next
  // and then place_nodes(). Errors, on all ranks: those of PatientComm
  [[nodiscard]] static Result<ReaderWorld> make(MPI_Comm world,
                                                uint32_t timeout_ms);
  // Collective, with the same argument on all ranks. Call it directly after
  // another collective; see PatientComm::split(). Errors: as above
  [[nodiscard]] Status find_node(uint32_t ranks_per_buffer);
  // Not collective. leader_of: leader() of every rank.
  void place_nodes(const std::vector<uint64_t>& leader_of);

  PatientComm& all() { return all_; }
  PatientComm& node() { return node_; }
  // This node's ranks by their numbers in all(), in order.
  const std::vector<uint64_t>& members() const { return members_; }
  uint64_t leader() const { return members_[0]; }
  // Leaders of all nodes, in node order.
  const std::vector<uint64_t>& leaders() const { return leaders_; }
  bool is_leader() const { return node_.rank() == 0; }
  uint32_t nodes() const { return nodes_; }
  // Buffers of this machine. With ranks_per_buffer a machine is several nodes.
  uint32_t buffers() const { return buffers_; }
  uint32_t node_number() const { return node_number_; }
  // This node's ranks, in the numbering of ranks node by node.
  NodeRanks ranks() const { return ranks_; }
  uint32_t rank() const {
    return ranks_.first + static_cast<uint32_t>(node_.rank());
  }

  // Whether MPI has MPI_THREAD_MULTIPLE. Without it post_failure() and
  // find_posted() do nothing, and nodes cannot take turns.
  bool has_threads() const { return has_threads_; }
  // Sends the error to every other node's leader; does not wait.
  void post_failure(const Error& error);
  // For a leader: a failure that another node posted.
  std::optional<Error> find_posted();
  // For leaders: receives the turn's token from node `from`, if it has come;
  // sends it to node `to`.
  bool has_token(uint32_t from, uint64_t turn);
  void send_token(uint32_t to, uint64_t turn);

  // Never frees the communicators: that would wait for ranks that have ended.
  void abandon();

 private:
  ReaderWorld() = default;

  PatientComm all_;
  PatientComm node_;
  std::vector<uint64_t> members_;
  std::vector<uint64_t> leaders_;  // of nodes
  uint32_t nodes_ = 1;
  uint32_t buffers_ = 1;
  uint32_t node_number_ = 0;
  NodeRanks ranks_;
  bool has_threads_ = false;
};

}  // namespace penstock::lmdb
