// The index beside an LMDB database. Its checksum and the database's identity
// are put right, so that what is behind them is reached.
#include <algorithm>
#include <cstring>

#include "common/checksum.h"
#include "loader/lmdb/little_endian.h"
#include "loader/lmdb/sidecar.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;
using namespace penstock::lmdb;

namespace {

constexpr uint64_t kMostRecords = uint64_t{1} << 22;
constexpr size_t kIdentityBytes = 64, kChecksumBytes = 8;

void check_index(const RecordIndex& index, const Snapshot& snapshot) {
  FUZZ_CHECK(index.size() == snapshot.meta.main.records);
  const uint64_t step = index.size() / 500 + 1;
  for (uint64_t i = 0; i < index.size(); i += step) {
    const RecordSpan value = index.at(i);
    FUZZ_CHECK(value.offset <= snapshot.file_bytes);
    FUZZ_CHECK(value.bytes <= snapshot.file_bytes - value.offset);
  }
  const std::string again = format_sidecar(snapshot, index);
  Result<RecordIndex> parsed = parse_sidecar(again, snapshot);
  FUZZ_CHECK(parsed.ok());
  FUZZ_CHECK(parsed->parts() == index.parts());
  FUZZ_CHECK(parsed->list().offsets == index.list().offsets);
  FUZZ_CHECK(parsed->list().bytes == index.list().bytes);
  FUZZ_CHECK(parsed->labels() == index.labels());
  FUZZ_CHECK(!index.has_labels() || index.labels().size() == index.size());
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Labels take 4 bytes a record, and a file has ten of each at least: this one
  // is only said to be there.
  const uint64_t records =
      size >= 8 ? std::min(get<uint64_t>(data), kMostRecords) : 0;
  const Snapshot snapshot{
      {4096, 99999, 7, {0, 2, records, 5}}, uint64_t{1} << 36, 1700000000, 5};
  (void)parse_sidecar(as_text(data, size), snapshot);
  // The head of an index of this database, and the input behind it.
  std::string text = format_sidecar(snapshot, RecordIndex());
  text.resize(kIdentityBytes);
  text += as_text(data, size);
  uint8_t sum[kChecksumBytes];
  put(sum, checksum(text));
  text.append(reinterpret_cast<const char*>(sum), sizeof sum);
  Result<RecordIndex> index = parse_sidecar(text, snapshot);
  if (index) {
    check_index(*index, snapshot);
  } else {
    FUZZ_CHECK(!index.error().message.empty());
  }
  return 0;
}
