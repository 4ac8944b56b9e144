// Appends records to a new LMDB database.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "loader/lmdb/liblmdb.h"

namespace penstock::lmdb {

class DatabaseWriter {
 public:
  // Limits of a transaction, whose records stay in memory until the commit.
  static constexpr uint64_t kTransactionBytes = uint64_t{64} << 20;
  static constexpr size_t kTransactionRecords = 20'000;

  // folder: an existing, empty folder. map_bytes: initial size limit, which is
  // doubled as often as needed.
  // Errors: kPermissionDenied, kIo
  [[nodiscard]] Status open(const std::string& folder, uint64_t map_bytes);
  // Keys must be in ascending order.
  // Errors: kIo  the disk is full, or failed; the writer is then unusable
  [[nodiscard]] Status append(std::string key, std::string value);
  // Syncs all records to disk and closes the database.
  [[nodiscard]] Status finish();

 private:
  struct Pair {
    std::string key, value;
  };
  [[nodiscard]] Status flush();
  [[nodiscard]] int write_transaction();

  LibraryEnv env_;
  std::string folder_;
  uint64_t map_bytes_ = 0;
  std::vector<Pair> pairs_;
  uint64_t pair_bytes_ = 0;
};

}  // namespace penstock::lmdb
