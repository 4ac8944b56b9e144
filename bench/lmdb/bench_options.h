// Command line of penstock-lmdb-bench.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/result.h"
#include "loader/lmdb/mpi/reader_options.h"

namespace penstock::lmdb {

struct BenchOptions {
  std::string path;
  bool is_stock = false;     // liblmdb on every rank, as Caffe reads
  bool is_cold = false;      // drop the file from the page cache first
  double stock_limit_s = 0;  // time limit of liblmdb's runs; 0: none
  ReaderOptions reader;
};

// nullopt: help was requested and printed. Errors: kInvalidArgument
[[nodiscard]] Result<std::optional<BenchOptions>> parse_bench_options(
    int argc, const char* const* argv);

}  // namespace penstock::lmdb
