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

// From when it was begun until when it ends, on monotonic_ns()'s clock.
struct StockTime {
  uint64_t begin_ns = 0;
  uint64_t end_ns = UINT64_MAX;
};

// REQUIRES: keys are the database's, if it is shuffled. Errors: as above
// Ends with the database, or in time; closing it does not count.
[[nodiscard]] Status read_stock(const std::string& data_file,
                                const ReaderOptions& options, StockTime time,
                                int rank, int ranks,
                                const std::vector<std::string>& keys,
                                RankResult& result);

}  // namespace penstock::lmdb
