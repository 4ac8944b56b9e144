// Databases written by liblmdb, and their records as its cursor reads them.
#pragma once

#include <lmdb.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "loader/lmdb/lmdb_database.h"
#include "tests/unit/loader/pictures.h"

namespace penstock::test {

// Writes to a data file (MDB_NOSUBDIR); aborts on an error of liblmdb.
class LmdbWriter {
 public:
  explicit LmdbWriter(const std::string& file, unsigned database_flags = 0,
                      const char* name = nullptr);
  LmdbWriter(const LmdbWriter&) = delete;
  LmdbWriter& operator=(const LmdbWriter&) = delete;
  ~LmdbWriter();

  void begin();
  void put(const std::string& key, const std::string& value);
  void remove(const std::string& key);  // missing keys are ignored
  void commit();
  void abort();

 private:
  MDB_env* env_ = nullptr;
  MDB_txn* txn_ = nullptr;
  MDB_dbi dbi_ = 0;
  unsigned database_flags_;
  const char* name_;
};

// "00000042"
std::string number_key(uint64_t number);
// Bytes that differ from record to record.
std::string random_value(std::mt19937_64& random, size_t bytes);

// A data file with values of these sizes, in transactions of so many records.
void write_lmdb(const std::string& file, const std::vector<size_t>& sizes,
                size_t transaction_records = SIZE_MAX);

struct HashedRecord {
  std::string key;
  uint64_t hash;
  uint64_t bytes;

  bool operator==(const HashedRecord&) const = default;
};
// Each record, by liblmdb's cursor.
std::vector<HashedRecord> records_by_liblmdb(const std::string& file);
// Each record, by walking the tree and reading the file at the spans.
Result<std::vector<HashedRecord>> records_by_walk(const std::string& file);
// As above, from an index, which has no keys.
Result<std::vector<HashedRecord>> records_by_index(
    const lmdb::Database& database);

// The same without keys.
std::vector<HashedRecord> without_keys(std::vector<HashedRecord> records);

std::vector<uint8_t> file_bytes(const std::string& path);
// Overwrites bytes of a file at an offset.
void patch_file(const std::string& path, uint64_t offset,
                const std::vector<uint8_t>& bytes);

}  // namespace penstock::test
