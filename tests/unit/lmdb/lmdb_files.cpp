#include "tests/unit/lmdb/lmdb_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "common/checksum.h"
#include "common/unique_fd.h"
#include "loader/lmdb/page_source.h"
#include "loader/lmdb/tree_walk.h"

namespace penstock::test {
namespace {

void need(int error, const char* what) {
  if (error == MDB_SUCCESS) return;
  std::fprintf(stderr, "%s: %s\n", what, mdb_strerror(error));
  std::abort();
}

MDB_val value_of(const std::string& text) {
  return {text.size(), const_cast<char*>(text.data())};
}

std::string text_of(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

HashedRecord hashed(std::string key, const std::string& value) {
  return {std::move(key), checksum(value), value.size()};
}

Result<std::string> read_span(int fd, const lmdb::RecordSpan& span) {
  std::string value(span.bytes, '\0');
  if (value.empty()) return value;
  const lmdb::PageRange range{
      span.offset, {reinterpret_cast<uint8_t*>(value.data()), value.size()}};
  Status got = lmdb::PageBatch(lmdb::ReadWith::kPread).read(fd, {&range, 1});
  if (!got) return std::move(got).error();
  return value;
}

}  // namespace

LmdbWriter::LmdbWriter(const std::string& file, unsigned database_flags,
                       const char* name)
    : database_flags_(database_flags), name_(name) {
  need(mdb_env_create(&env_), "create");
  need(mdb_env_set_mapsize(env_, size_t{1} << 32), "map size");
  need(mdb_env_set_maxdbs(env_, 4), "databases");
  need(mdb_env_open(env_, file.c_str(), MDB_NOSUBDIR | MDB_NOSYNC, 0600),
       "open");
}

LmdbWriter::~LmdbWriter() {
  if (txn_ != nullptr) mdb_txn_abort(txn_);
  mdb_env_close(env_);
}

void LmdbWriter::begin() {
  need(mdb_txn_begin(env_, nullptr, 0, &txn_), "begin");
  need(mdb_dbi_open(txn_, name_, database_flags_ | MDB_CREATE, &dbi_), "dbi");
}

void LmdbWriter::put(const std::string& key, const std::string& value) {
  MDB_val k = value_of(key), v = value_of(value);
  need(mdb_put(txn_, dbi_, &k, &v, 0), "put");
}

void LmdbWriter::remove(const std::string& key) {
  MDB_val k = value_of(key);
  const int error = mdb_del(txn_, dbi_, &k, nullptr);
  if (error != MDB_NOTFOUND) need(error, "del");
}

void LmdbWriter::commit() {
  need(mdb_txn_commit(txn_), "commit");
  txn_ = nullptr;
}

void LmdbWriter::abort() {
  mdb_txn_abort(txn_);
  txn_ = nullptr;
}

std::string number_key(uint64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(digits.size() < 8 ? 8 - digits.size() : 0, '0') + digits;
}

std::string random_value(std::mt19937_64& random, size_t bytes) {
  std::string value(bytes, '\0');
  for (char& c : value) c = static_cast<char>(random());
  return value;
}

void write_lmdb(const std::string& file, const std::vector<size_t>& sizes,
                size_t transaction_records) {
  LmdbWriter writer(file);
  std::mt19937_64 random(sizes.size());
  writer.begin();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0 && i % transaction_records == 0) {
      writer.commit();
      writer.begin();
    }
    writer.put(number_key(i), random_value(random, sizes[i]));
  }
  writer.commit();
}

std::vector<HashedRecord> records_by_liblmdb(const std::string& file) {
  MDB_env* env = nullptr;
  MDB_txn* txn = nullptr;
  MDB_cursor* cursor = nullptr;
  MDB_dbi dbi = 0;
  need(mdb_env_create(&env), "create");
  // Without locks: another environment of this process may have the file open,
  // and closing a second one would destroy its mutexes (LMDB 0.9.31).
  need(mdb_env_open(env, file.c_str(), MDB_NOSUBDIR | MDB_RDONLY | MDB_NOLOCK,
                    0),
       "open");
  need(mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn), "begin");
  need(mdb_dbi_open(txn, nullptr, 0, &dbi), "dbi");
  need(mdb_cursor_open(txn, dbi, &cursor), "cursor");
  std::vector<HashedRecord> records;
  MDB_val key, value;
  while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == MDB_SUCCESS) {
    records.push_back(hashed(text_of(key), text_of(value)));
  }
  mdb_cursor_close(cursor);
  mdb_txn_abort(txn);
  mdb_env_close(env);
  return records;
}

Result<std::vector<HashedRecord>> records_by_walk(const std::string& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return system_error(errno, file);
  auto snapshot = lmdb::take_snapshot(fd.get());
  if (!snapshot) return std::move(snapshot).error();
  lmdb::FilePages pages(fd.get(), lmdb::PageBatch());
  std::vector<HashedRecord> records;
  Status all = Done{};
  Status walked =
      lmdb::walk_tree(pages, *snapshot, [&](const lmdb::Record& record) {
        auto value = read_span(fd.get(), record.value);
        if (!value) {
          all = std::move(value).error();
          return;
        }
        records.push_back(hashed(std::string(record.key), *value));
      });
  if (!walked) return std::move(walked).error();
  if (!all) return std::move(all).error();
  return records;
}

Result<std::vector<HashedRecord>> records_by_index(
    const lmdb::Database& database) {
  std::vector<HashedRecord> records;
  for (uint64_t i = 0; i < database.index().size(); ++i) {
    auto value = read_span(database.fd(), database.index().at(i));
    if (!value) return std::move(value).error();
    records.push_back(hashed("", *value));
  }
  return records;
}

std::vector<HashedRecord> without_keys(std::vector<HashedRecord> records) {
  for (HashedRecord& record : records) record.key.clear();
  return records;
}

std::vector<uint8_t> file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void patch_file(const std::string& path, uint64_t offset,
                const std::vector<uint8_t>& bytes) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const ssize_t written = ::pwrite(fd.get(), bytes.data(), bytes.size(),
                                   static_cast<off_t>(offset));
  if (written != static_cast<ssize_t>(bytes.size())) std::abort();
}

}  // namespace penstock::test
