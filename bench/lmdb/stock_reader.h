// Reads with stock LMDB, as Caffe does: every rank has its own cursor and skips
// to its records. Shuffled, every rank looks up its records' keys.
#pragma once

#include <string>
#include <vector>

#include "bench/lmdb/bench_options.h"
#include "bench/lmdb/rank_result.h"
#include "common/result.h"

namespace penstock::lmdb {

// All keys, in order. They are listed before a shuffled run is timed, as if
// keys were plain numbers. Errors: kIo, kInvalidArgument  liblmdb's
[[nodiscard]] Result<std::vector<std::string>> list_keys(
    const std::string& data_file);

// Start and time limit of a run, on monotonic_ns()'s clock.
struct StockTime {
  uint64_t begin_ns = 0;
  uint64_t end_ns = UINT64_MAX;
};

// Reads until the end of the epochs or the time limit. Closing the database is
// not timed. REQUIRES: for a shuffled run, keys are the database's.
// Errors: as above
[[nodiscard]] Status read_stock(const std::string& data_file,
                                const ReaderOptions& options, StockTime time,
                                int rank, int ranks,
                                const std::vector<std::string>& keys,
                                RankResult& result);

}  // namespace penstock::lmdb
