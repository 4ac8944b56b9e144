// An LMDB data file: whatever it has, what is found lies within it.
#include <algorithm>

#include "loader/lmdb/record_index.h"
#include "loader/lmdb/sidecar.h"
#include "loader/lmdb/tree_walk.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;
using namespace penstock::lmdb;

namespace {

class MemoryPages : public PageSource {
 public:
  explicit MemoryPages(Bytes file) : file_(file) {}
  Status read(std::span<const PageRange> ranges) override {
    for (const PageRange& range : ranges) {
      if (range.offset > file_.size() ||
          range.into.size() > file_.size() - range.offset) {
        return Error{Code::kIo, 0, "the file ends before"};
      }
      std::copy_n(file_.begin() + static_cast<ptrdiff_t>(range.offset),
                  range.into.size(), range.into.begin());
    }
    return Done{};
  }

 private:
  Bytes file_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes file(data, size);
  Result<Meta> meta = parse_meta(file);
  if (!meta) {
    FUZZ_CHECK(!meta.error().message.empty());
    return 0;
  }
  const Snapshot snapshot{*meta, size, 0, 0};
  MemoryPages pages(file);
  RecordIndexBuilder builder;
  size_t key_bytes = 0;
  uint64_t number = 0;
  Status walked = walk_tree(pages, snapshot, [&](const Record& record) {
    FUZZ_CHECK(record.value.offset <= size);
    FUZZ_CHECK(record.value.bytes <= size - record.value.offset);
    for (const char c : record.key) key_bytes += c != 0;
    builder.add(record.value, label_in_key(record.key, number++));
  });
  if (!walked) {
    FUZZ_CHECK(!walked.error().message.empty());
    return 0;
  }
  const RecordIndex index = builder.finish();
  FUZZ_CHECK(index.size() == meta->main.records);
  for (uint64_t i = 0; i < index.size(); ++i) {
    const RecordSpan value = index.at(i);
    FUZZ_CHECK(value.offset + value.bytes <= size);
    if (is_overflow(value, meta->page_bytes)) {
      (void)check_overflow(file.subspan(value.offset - kPageHeaderBytes), value,
                           meta->page_bytes);
    }
  }
  (void)check_sample(pages, snapshot, index, size);
  return 0;
}
