// Finds the records for a run's readers: from the sidecar, or by a joint walk.
// In that each reader walks a part of the tree's leaf pages.
#pragma once

#include <string>

#include "common/result.h"
#include "loader/lmdb/lmdb_database.h"
#include "loader/lmdb/mpi/patient_comm.h"

namespace penstock::lmdb {

// Origin of an index.
struct IndexOrigin {
  bool is_sidecar = false;
  std::string refusal;  // why a requested sidecar was not used
};

// Sets the database's index. Collective over the readers, which must have the
// same snapshot. Uses the sidecar only if every reader can.
// Errors, the same on all readers: those of walk_tree() and PatientComm;
//   kUnavailable  the database was written meanwhile
[[nodiscard]] Result<IndexOrigin> find_index(PatientComm& readers,
                                             Database& database,
                                             bool wants_sidecar);

}  // namespace penstock::lmdb
