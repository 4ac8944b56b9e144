// check_sample(): compares the index with pages of the database.
#include <array>
#include <functional>
#include <random>

#include "loader/lmdb/sidecar.h"

namespace penstock::lmdb {
namespace {

Error differs(const std::string& how) {
  return Error{Code::kNotFound, 0,
               "the index is not this database's: " + how +
                   "; write it again with `penstock lmdb index`"};
}

Error differs(uint64_t record, const char* how) {
  return differs("record " + std::to_string(record) + how);
}

// Selects one of the given number of children.
using Choose = std::function<size_t(size_t)>;

class Sampler {
 public:
  Sampler(PageSource& source, const Snapshot& snapshot,
          const RecordIndex& index)
      : source_(source),
        snapshot_(snapshot),
        index_(index),
        page_(snapshot.meta.page_bytes) {}

  // Descends to a leaf page and compares its records. first: the number of its
  // first record; end: of its last record, + 1; nullopt: unknown.
  Status check_leaf(const Choose& choose, std::optional<uint64_t> first,
                    std::optional<uint64_t> end) {
    Result<uint64_t> number = descend(choose);
    if (!number) return std::move(number).error();
    records_.clear();
    Status parsed = parse_leaf(page_, *number, snapshot_.bounds(), records_);
    if (!parsed) return parsed;
    if (end && *end < records_.size()) return differs(0, " is elsewhere");
    if (end) first = *end - records_.size();
    if (!first) first = index_.find(records_.front().value);
    if (!first) {
      return differs("it lacks the record at byte " +
                     std::to_string(records_.front().value.offset));
    }
    return compare(*first);
  }

 private:
  Status read(uint64_t offset, std::span<uint8_t> into) {
    const PageRange range{offset, into};
    return source_.read({&range, 1});
  }

  // Returns the leaf's page number, and reads the leaf into page_.
  Result<uint64_t> descend(const Choose& choose) {
    const uint32_t page_bytes = snapshot_.meta.page_bytes;
    uint64_t number = snapshot_.meta.main.root;
    for (int depth = 1;; ++depth) {
      if (Status got = read(number * page_bytes, page_); !got) {
        return std::move(got).error();
      }
      if (depth >= snapshot_.meta.main.depth) return number;
      std::vector<uint64_t> children;
      Status parsed = parse_branch(page_, number, snapshot_.bounds(), children);
      if (!parsed) return std::move(parsed).error();
      number = children[choose(children.size())];
    }
  }

  Status compare(uint64_t first) {
    for (size_t i = 0; i < records_.size(); ++i) {
      const RecordSpan& value = records_[i].value;
      const uint64_t record = first + i;
      if (record >= index_.size() || index_.at(record) != value) {
        return differs(record, " is elsewhere");
      }
      if (index_.label(record) != label_in_key(records_[i].key, record)) {
        return differs(record, " has another label");
      }
    }
    return check_header(records_.front().value);
  }

  Status check_header(const RecordSpan& value) {
    const uint32_t page_bytes = snapshot_.meta.page_bytes;
    if (!is_overflow(value, page_bytes)) return Done{};
    std::array<uint8_t, kPageHeaderBytes> header;
    Status got = read(value.offset - header.size(), header);
    return got ? check_overflow(header, value, page_bytes) : got;
  }

  PageSource& source_;
  const Snapshot& snapshot_;
  const RecordIndex& index_;
  std::vector<uint8_t> page_;
  std::vector<Record> records_;
};

}  // namespace

Status check_sample(PageSource& source, const Snapshot& snapshot,
                    const RecordIndex& index, uint64_t seed) {
  if (index.size() == 0) return Done{};
  Sampler sampler(source, snapshot, index);
  const auto first = [](size_t) { return size_t{0}; };
  const auto last = [](size_t children) { return children - 1; };
  std::mt19937_64 random(seed);
  const auto any = [&](size_t children) { return random() % children; };
  Status same = sampler.check_leaf(first, 0, std::nullopt);
  if (same) same = sampler.check_leaf(last, std::nullopt, index.size());
  for (int i = 0; same && i < kSampledLeaves; ++i) {
    same = sampler.check_leaf(any, std::nullopt, std::nullopt);
  }
  return same;
}

}  // namespace penstock::lmdb
