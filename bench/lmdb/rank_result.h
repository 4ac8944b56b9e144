// Results of one rank of the benchmark, as a line of JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "common/result.h"
#include "loader/lmdb/mpi/lmdb_reader.h"

namespace penstock::lmdb {

struct RankResult {
  uint64_t records = 0;
  uint64_t bytes = 0;
  // Sum of the records' checksums: independent of their order, and its sum over
  // the ranks is independent of their number.
  uint64_t checksum = 0;
  double open_s = 0;   // until the reader was open
  double seconds = 0;  // from the ranks' common start
  double cpu_s = 0;
  ReadCounts counts;  // of this rank as a reader
  ReaderFacts facts;

  void add(std::span<const uint8_t> value);
};

std::string result_line(int rank, const RankResult& result);
std::string error_line(int rank, const Error& error);

}  // namespace penstock::lmdb
