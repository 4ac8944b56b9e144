// Position and label of each record of a database, by the record's number in
// key order.
//
// Records of one size that were written in order have regular positions: the
// records of a leaf page are a row with a fixed stride, and such rows follow
// each other with a fixed stride. They take one entry, from which positions are
// computed. Irregular positions are listed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "loader/lmdb/page_format.h"
#include "loader/lmdb/record_key.h"

namespace penstock::lmdb {

// Rows of records of one size. The j-th record of the i-th row is at
// offset + i * row_stride + j * stride.
struct RecordRows {
  uint64_t offset = 0;
  uint32_t record_bytes = 0;
  uint32_t row_records = 0;  // at least 1
  int64_t stride = 0;
  uint64_t rows = 0;  // at least 1
  int64_t row_stride = 0;

  uint64_t records() const { return rows * row_records; }
  RecordSpan at(uint64_t record) const;
  bool operator==(const RecordRows&) const = default;
};

// A part of the database: rows, or the next `listed` records of the list.
struct IndexPart {
  RecordRows rows;
  uint64_t listed = 0;  // 0: the part is rows

  uint64_t records() const { return listed > 0 ? listed : rows.records(); }
  bool operator==(const IndexPart&) const = default;
};

// 12 bytes per record.
struct RecordList {
  std::vector<uint64_t> offsets;
  std::vector<uint32_t> bytes;

  size_t size() const { return offsets.size(); }
  RecordSpan at(size_t i) const { return {offsets[i], bytes[i]}; }
  void push_back(const RecordSpan& value) {
    offsets.push_back(value.offset);
    bytes.push_back(value.bytes);
  }
};

// Immutable after construction, so thread-safe.
class RecordIndex {
 public:
  RecordIndex() = default;
  // labels: of all records; empty: no record has a label.
  // REQUIRES: list has as many records as the parts take from it.
  RecordIndex(std::vector<IndexPart> parts, RecordList list,
              std::vector<int32_t> labels = {});

  uint64_t size() const { return size_; }
  // REQUIRES: record < size().
  RecordSpan at(uint64_t record) const;
  // kUnlabelled: no label.
  // REQUIRES: record < size().
  int32_t label(uint64_t record) const {
    return labels_.empty() ? kUnlabelled : labels_[record];
  }
  bool has_labels() const { return !labels_.empty(); }
  // The record with that value; nullopt: none.
  std::optional<uint64_t> find(const RecordSpan& value) const;

  const std::vector<IndexPart>& parts() const { return parts_; }
  const RecordList& list() const { return list_; }
  const std::vector<int32_t>& labels() const { return labels_; }
  // Number of records with computed positions.
  uint64_t computed() const { return size_ - list_.size(); }

 private:
  std::vector<IndexPart> parts_;
  std::vector<uint64_t> first_record_;  // of each part
  std::vector<uint64_t> first_listed_;  // of each part
  RecordList list_;
  std::vector<int32_t> labels_;  // of all records, or empty
  uint64_t size_ = 0;
};

// Builds an index from the records in key order.
class RecordIndexBuilder {
 public:
  void add(const RecordSpan& value, int32_t label = kUnlabelled);
  // Leaves the builder empty.
  RecordIndex finish();

 private:
  void add_label(int32_t label);
  void close_row();
  void close_rows();

  RecordRows row_;   // the current row
  RecordRows rows_;  // complete rows, which the current one may extend
  std::vector<IndexPart> parts_;
  RecordList list_;
  std::vector<int32_t> labels_;  // empty before the first labelled record
  uint64_t added_ = 0;
};

}  // namespace penstock::lmdb
