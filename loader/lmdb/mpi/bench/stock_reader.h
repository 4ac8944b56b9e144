// Stock LMDB, as Caffe reads it: every rank has a cursor of its own and skips
// to its records; shuffled, every rank asks for its records' keys.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"
#include "loader/lmdb/mpi/bench/bench_options.h"
#include "loader/lmdb/mpi/bench/rank_result.h"

namespace penstock::lmdb {

// Keys in their order; known before a shuffled run is timed, as if they were
// numbers. Errors: kIo, kInvalidArgument  liblmdb's
[[nodiscard]] Result<std::vector<std::string>> list_keys(
    const std::string& data_file);

// REQUIRES: keys are the database's, if it is shuffled. Errors: as above
// Ends with the database, or when monotonic_ns() is end_ns.
[[nodiscard]] Status read_stock(const std::string& data_file,
                                const ReaderOptions& options, uint64_t end_ns,
                                int rank, int ranks,
                                const std::vector<std::string>& keys,
                                RankResult& result);

}  // namespace penstock::lmdb
