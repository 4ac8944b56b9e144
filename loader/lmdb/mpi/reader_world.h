// The ranks of a run: who is on which node, who reads, and how nodes tell each
// other that a run has failed.
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
  // Collective over world, whose copy it keeps. find_node() has to follow, and
  // after it place_nodes(). Errors, on all ranks: PatientComm's
  [[nodiscard]] static Result<ReaderWorld> make(MPI_Comm world,
                                                uint32_t timeout_ms);
  // Collective, with the same number on all ranks, and just after another
  // collective (PatientComm::split()). Errors: as above
  [[nodiscard]] Status find_node(uint32_t ranks_per_buffer);
  // Not collective. leader_of: all ranks' leader().
  void place_nodes(const std::vector<uint64_t>& leader_of);

  PatientComm& all() { return all_; }
  PatientComm& node() { return node_; }
  // This node's ranks, as they are numbered in all(), in order.
  const std::vector<uint64_t>& members() const { return members_; }
  uint64_t leader() const { return members_[0]; }
  // Of all nodes, in node order.
  const std::vector<uint64_t>& leaders() const { return leaders_; }
  bool is_leader() const { return node_.rank() == 0; }
  uint32_t nodes() const { return nodes_; }
  // Of this machine, which is more than one node if ranks_per_buffer says so.
  uint32_t buffers() const { return buffers_; }
  uint32_t node_number() const { return node_number_; }
  // This node's among all ranks, counted node by node.
  NodeRanks ranks() const { return ranks_; }
  uint32_t rank() const {
    return ranks_.first + static_cast<uint32_t>(node_.rank());
  }

  // Whether threads may call MPI at any time; without it the following do
  // nothing, and nodes cannot take turns.
  bool has_threads() const { return has_threads_; }
  // Tells every other node's leader; does not wait for them.
  void post_failure(const Error& error);
  // For a leader: what another node posted, if it did.
  std::optional<Error> find_posted();
  // For leaders, with the turn's number: the token of `from`, or to `to`.
  bool has_token(uint32_t from, uint64_t turn);
  void send_token(uint32_t to, uint64_t turn);

  // Frees nothing: some ranks are not there any more.
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
