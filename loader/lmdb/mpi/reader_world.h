// The ranks of a run: who is on which node, who reads, and how nodes tell each
// other that a run has failed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/result.h"
#include "loader/lmdb/mpi/batch_plan.h"
#include "loader/lmdb/mpi/patient_comm.h"
#include "loader/lmdb/mpi/token_order.h"

namespace penstock::lmdb {

class ReaderWorld {
 public:
  // Collective over world, whose copy it keeps. find_nodes() has to follow.
  // Errors, on all ranks: PatientComm's
  [[nodiscard]] static Result<ReaderWorld> make(MPI_Comm world,
                                                uint32_t timeout_ms);
  // Collective, with the same number on all ranks. Errors: as above
  [[nodiscard]] Status find_nodes(uint32_t ranks_per_buffer);

  PatientComm& all() { return all_; }
  PatientComm& node() { return node_; }
  // The first ranks of the nodes, in node order; null on other ranks.
  PatientComm& leaders() { return leaders_; }
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
  PatientComm leaders_;
  PatientComm posts_;                   // a copy of all_, for what threads send
  std::vector<uint64_t> leader_ranks_;  // of nodes, in posts_
  uint32_t nodes_ = 1;
  uint32_t buffers_ = 1;
  uint32_t node_number_ = 0;
  NodeRanks ranks_;
  bool has_threads_ = false;
};

}  // namespace penstock::lmdb
