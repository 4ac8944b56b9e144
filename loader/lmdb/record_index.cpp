#include "loader/lmdb/record_index.h"

#include <algorithm>
#include <utility>

namespace penstock::lmdb {
namespace {

// Minimum for a part of rows: fewer records are cheaper in the list.
constexpr uint64_t kFewestComputed = 8;

int64_t distance(uint64_t from, uint64_t to) {
  return static_cast<int64_t>(to) - static_cast<int64_t>(from);
}

uint64_t moved(uint64_t offset, int64_t by) {
  return offset + static_cast<uint64_t>(by);
}

// The record of `rows` with that value.
std::optional<uint64_t> find_in(const RecordRows& rows,
                                const RecordSpan& value) {
  if (rows.record_bytes != value.bytes) return std::nullopt;
  for (uint64_t row = 0; row < rows.rows; ++row) {
    const int64_t from_start =
        distance(rows.at(row * rows.row_records).offset, value.offset);
    if (from_start == 0) return row * rows.row_records;
    if (rows.stride == 0 || from_start % rows.stride != 0) continue;
    const int64_t in_row = from_start / rows.stride;
    if (in_row > 0 && in_row < rows.row_records) {
      return row * rows.row_records + static_cast<uint64_t>(in_row);
    }
  }
  return std::nullopt;
}

}  // namespace

RecordSpan RecordRows::at(uint64_t record) const {
  const auto row = static_cast<int64_t>(record / row_records);
  const auto in_row = static_cast<int64_t>(record % row_records);
  return {moved(offset, row * row_stride + in_row * stride), record_bytes};
}

RecordIndex::RecordIndex(std::vector<IndexPart> parts, RecordList list,
                         std::vector<int32_t> labels)
    : parts_(std::move(parts)),
      list_(std::move(list)),
      labels_(std::move(labels)) {
  uint64_t listed = 0;
  for (const IndexPart& part : parts_) {
    first_record_.push_back(size_);
    first_listed_.push_back(listed);
    size_ += part.records();
    listed += part.listed;
  }
}

RecordSpan RecordIndex::at(uint64_t record) const {
  const auto after =
      std::upper_bound(first_record_.begin(), first_record_.end(), record);
  const auto part = static_cast<size_t>(after - first_record_.begin()) - 1;
  const uint64_t in_part = record - first_record_[part];
  if (parts_[part].listed > 0) return list_.at(first_listed_[part] + in_part);
  return parts_[part].rows.at(in_part);
}

std::optional<uint64_t> RecordIndex::find(const RecordSpan& value) const {
  for (size_t part = 0; part < parts_.size(); ++part) {
    if (parts_[part].listed > 0) {
      const auto begin =
          list_.offsets.begin() + static_cast<ptrdiff_t>(first_listed_[part]);
      const auto end = begin + static_cast<ptrdiff_t>(parts_[part].listed);
      const auto found = std::find(begin, end, value.offset);
      if (found == end) continue;
      const auto in_part = static_cast<uint64_t>(found - begin);
      if (list_.at(first_listed_[part] + in_part) != value) continue;
      return first_record_[part] + in_part;
    }
    const auto found = find_in(parts_[part].rows, value);
    if (found) return first_record_[part] + *found;
  }
  return std::nullopt;
}

void RecordIndexBuilder::add_label(int32_t label) {
  if (label != kUnlabelled && labels_.empty()) {
    labels_.assign(added_, kUnlabelled);
  }
  if (label != kUnlabelled || !labels_.empty()) labels_.push_back(label);
  ++added_;
}

void RecordIndexBuilder::add(const RecordSpan& value, int32_t label) {
  add_label(label);
  const bool is_like = row_.row_records > 0 && row_.row_records < UINT32_MAX &&
                       row_.record_bytes == value.bytes;
  if (is_like && row_.row_records == 1) {
    row_.stride = distance(row_.offset, value.offset);
    row_.row_records = 2;
  } else if (is_like && moved(row_.offset, row_.row_records * row_.stride) ==
                            value.offset) {
    ++row_.row_records;
  } else {
    close_row();
    row_ = {value.offset, value.bytes, 1, 0, 1, 0};
  }
}

// Adds the row to the rows before if it has their shape and distance.
void RecordIndexBuilder::close_row() {
  if (row_.row_records == 0) return;
  const bool is_like =
      rows_.rows > 0 && rows_.record_bytes == row_.record_bytes &&
      rows_.row_records == row_.row_records && rows_.stride == row_.stride;
  if (is_like && rows_.rows == 1) {
    rows_.row_stride = distance(rows_.offset, row_.offset);
    rows_.rows = 2;
  } else if (is_like && rows_.at(rows_.records()).offset == row_.offset) {
    ++rows_.rows;
  } else {
    close_rows();
    rows_ = row_;
  }
  row_ = RecordRows{};
}

void RecordIndexBuilder::close_rows() {
  const uint64_t records = rows_.rows == 0 ? 0 : rows_.records();
  if (records >= kFewestComputed) {
    parts_.push_back({rows_, 0});
  } else if (records > 0) {
    if (parts_.empty() || parts_.back().listed == 0) parts_.push_back({});
    parts_.back().listed += records;
    for (uint64_t i = 0; i < records; ++i) list_.push_back(rows_.at(i));
  }
  rows_ = RecordRows{};
}

RecordIndex RecordIndexBuilder::finish() {
  close_row();
  close_rows();
  list_.offsets.shrink_to_fit();
  list_.bytes.shrink_to_fit();
  labels_.shrink_to_fit();
  added_ = 0;
  return RecordIndex(std::exchange(parts_, {}), std::exchange(list_, {}),
                     std::exchange(labels_, {}));
}

}  // namespace penstock::lmdb
