// How a run's readers learn where the records are: from the sidecar, or by
// walking the tree together, each a part of its leaf pages.
#pragma once

#include <string>

#include "common/result.h"
#include "loader/lmdb/lmdb_database.h"
#include "loader/lmdb/mpi/patient_comm.h"

namespace penstock::lmdb {

// How it was found.
struct IndexOrigin {
  bool is_sidecar = false;
  std::string refusal;  // why it is none, if that was wanted
};

// Gives the database its index. Collective over the readers, who have the same
// snapshot. A sidecar is used if every reader can.
// Errors, on all readers the same: walk_tree()'s; kUnavailable  the database
//                                  was written meanwhile; PatientComm's
[[nodiscard]] Result<IndexOrigin> find_index(PatientComm& readers,
                                             Database& database,
                                             bool wants_sidecar);

}  // namespace penstock::lmdb
