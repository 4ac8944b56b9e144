#include "loader/lmdb/sidecar.h"

#include <cstring>

#include "common/checksum.h"
#include "loader/lmdb/little_endian.h"

namespace penstock::lmdb {
namespace {

constexpr std::string_view kMagic = "PnstLmdb";
constexpr uint32_t kVersion = 2;
constexpr size_t kHeaderBytes = 88, kPartBytes = 48, kChecksumBytes = 8;
// Per record a leaf page has a 2-byte index entry and an 8-byte node header.
constexpr uint64_t kRecordMinBytes = 10;

class Writer {
 public:
  template <class Number>
  void add(Number number) {
    uint8_t bytes[sizeof number];
    put(bytes, number);
    text_.append(reinterpret_cast<const char*>(bytes), sizeof number);
  }
  void add_text(std::string_view text) { text_ += text; }
  // Seven bits per byte, lowest first; the eighth bit is 0 in the last byte.
  void add_varint(uint64_t number) {
    for (; number >= 0x80; number >>= 7) {
      text_ += static_cast<char>(number | 0x80);
    }
    text_ += static_cast<char>(number);
  }
  std::string finish() {
    add(checksum(text_));
    return std::move(text_);
  }

 private:
  std::string text_;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  template <class Number>
  Number take() {
    const auto number =
        get<Number>(reinterpret_cast<const uint8_t*>(rest_.data()));
    rest_.remove_prefix(sizeof number);
    return number;
  }
  // False: the text ends, or the number has more than 64 bits.
  bool take_varint(uint64_t& number) {
    number = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      number |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// Maps numbers of small magnitude and either sign to small numbers.
uint64_t zigzag(uint64_t number) {
  return (number << 1) ^ (0 - (number >> 63));
}
uint64_t unzigzag(uint64_t number) {
  return (number >> 1) ^ (0 - (number & 1));
}

// Predicted offset of the record after `value`: behind its overflow pages, or
// near it in a leaf page.
uint64_t likely_next(const RecordSpan& value, uint32_t page_bytes) {
  if (!is_overflow(value, page_bytes)) return value.offset;
  return value.offset + overflow_pages(value.bytes, page_bytes) * page_bytes;
}

void write_header(Writer& writer, const Snapshot& snapshot,
                  const RecordIndex& index) {
  writer.add_text(kMagic);
  writer.add(kVersion);
  writer.add(snapshot.meta.page_bytes);
  writer.add(snapshot.file_bytes);
  writer.add(snapshot.mtime_s);
  writer.add(snapshot.mtime_ns);
  writer.add(uint32_t{snapshot.meta.main.depth});
  writer.add(snapshot.meta.txnid);
  writer.add(snapshot.meta.main.root);
  writer.add(snapshot.meta.last_page);
  writer.add(index.size());
  writer.add(uint64_t{index.parts().size()});
  writer.add(uint64_t{index.list().size()});
}

void write_part(Writer& writer, const IndexPart& part) {
  writer.add(part.listed);
  writer.add(part.rows.offset);
  writer.add(part.rows.record_bytes);
  writer.add(part.rows.row_records);
  writer.add(part.rows.stride);
  writer.add(part.rows.rows);
  writer.add(part.rows.row_stride);
}

struct SidecarCounts {
  uint64_t records, parts, listed;
};

Error not_an_index(const std::string& why) {
  return invalid("no usable index: " + why +
                 "; write it again with `penstock lmdb index`");
}

// Compares the header with the opened database's state.
Status check_identity(Reader& reader, const Snapshot& snapshot) {
  const Meta& meta = snapshot.meta;
  // Takes all fields, in the file's order, even after a difference.
  const bool is_same[] = {
      reader.take<uint32_t>() == meta.page_bytes,
      reader.take<uint64_t>() == snapshot.file_bytes,
      reader.take<int64_t>() == snapshot.mtime_s,
      reader.take<uint32_t>() == snapshot.mtime_ns,
      reader.take<uint32_t>() == meta.main.depth,
      reader.take<uint64_t>() == meta.txnid,
      reader.take<uint64_t>() == meta.main.root,
      reader.take<uint64_t>() == meta.last_page,
  };
  const char* const names[] = {"page size",      "size",     "time of change",
                               "time of change", "depth",    "last transaction",
                               "root",           "last page"};
  for (size_t i = 0; i < std::size(is_same); ++i) {
    if (is_same[i]) continue;
    return Error{Code::kNotFound, 0,
                 std::string("the index is of another state of the database: "
                             "its ") +
                     names[i] +
                     " differs; write it again with `penstock lmdb index`, and "
                     "copy databases with cp -p"};
  }
  return Done{};
}

// Whether all of a part's rows are within the file. Offsets are linear in row
// and record, so checking the four corners is enough.
bool is_inside(const RecordRows& rows, uint64_t file_bytes) {
  if (rows.row_records == 0 || rows.rows == 0) return false;
  for (const uint64_t row : {uint64_t{0}, rows.rows - 1}) {
    for (const uint32_t in_row : {0U, rows.row_records - 1}) {
      const __int128 at = __int128{rows.offset} +
                          __int128{row} * rows.row_stride +
                          __int128{in_row} * rows.stride;
      if (at < 0 || at + rows.record_bytes > __int128{file_bytes}) return false;
    }
  }
  return true;
}

Result<std::vector<IndexPart>> read_parts(Reader& reader,
                                          const SidecarCounts& counts,
                                          uint64_t file_bytes) {
  std::vector<IndexPart> parts;
  uint64_t records = 0, listed = 0;
  for (uint64_t i = 0; i < counts.parts; ++i) {
    IndexPart part;
    part.listed = reader.take<uint64_t>();
    part.rows.offset = reader.take<uint64_t>();
    part.rows.record_bytes = reader.take<uint32_t>();
    part.rows.row_records = reader.take<uint32_t>();
    part.rows.stride = reader.take<int64_t>();
    part.rows.rows = reader.take<uint64_t>();
    part.rows.row_stride = reader.take<int64_t>();
    const bool is_right =
        part.listed > 0 ||
        (part.rows.rows <= counts.records && is_inside(part.rows, file_bytes));
    const __int128 more =
        part.listed > 0 ? __int128{part.listed}
                        : __int128{part.rows.rows} * part.rows.row_records;
    if (!is_right || records + more > counts.records) {
      return not_an_index("its part " + std::to_string(i) + " is damaged");
    }
    records += part.records();
    listed += part.listed;
    parts.push_back(part);
  }
  if (records != counts.records || listed != counts.listed) {
    return not_an_index("its parts have " + std::to_string(records) +
                        " records of " + std::to_string(counts.records));
  }
  return parts;
}

Result<RecordList> read_list(Reader& reader, uint64_t records,
                             const Bounds& bounds) {
  RecordList list;
  RecordSpan value;
  for (uint64_t i = 0; i < records; ++i) {
    uint64_t offset = 0, bytes = 0;
    if (!reader.take_varint(offset) || !reader.take_varint(bytes)) {
      return not_an_index("its list ends early");
    }
    value.offset = likely_next(value, bounds.page_bytes) + unzigzag(offset);
    bytes = value.bytes + unzigzag(bytes);
    if (bytes > UINT32_MAX || value.offset > bounds.file_bytes ||
        bytes > bounds.file_bytes - value.offset) {
      return not_an_index("record " + std::to_string(i) +
                          " of its list is beyond the database's end");
    }
    value.bytes = static_cast<uint32_t>(bytes);
    list.push_back(value);
  }
  return list;
}

// Writes runs of consecutive records with the same label. A database without
// labels has no runs.
void write_labels(Writer& writer, const std::vector<int32_t>& labels) {
  for (size_t begin = 0; begin < labels.size();) {
    size_t end = begin + 1;
    while (end < labels.size() && labels[end] == labels[begin]) ++end;
    writer.add_varint(end - begin);
    writer.add_varint(static_cast<uint64_t>(int64_t{labels[begin]} + 1));
    begin = end;
  }
}

Result<std::vector<int32_t>> read_labels(Reader& reader, uint64_t records) {
  std::vector<int32_t> labels;
  if (reader.rest().empty()) return labels;
  while (!reader.rest().empty()) {
    uint64_t run = 0, label = 0;
    if (!reader.take_varint(run) || !reader.take_varint(label)) {
      return not_an_index("its labels end early");
    }
    if (run == 0 || run > records - labels.size() ||
        label > uint64_t{INT32_MAX} + 1) {
      return not_an_index("the label of record " +
                          std::to_string(labels.size()) + " is damaged");
    }
    labels.insert(labels.end(), run,
                  static_cast<int32_t>(static_cast<int64_t>(label) - 1));
  }
  if (labels.size() == records) return labels;
  return not_an_index("it has labels of " + std::to_string(labels.size()) +
                      " records of " + std::to_string(records));
}

}  // namespace

std::string format_sidecar(const Snapshot& snapshot, const RecordIndex& index) {
  Writer writer;
  write_header(writer, snapshot, index);
  for (const IndexPart& part : index.parts()) write_part(writer, part);
  RecordSpan before;
  for (size_t i = 0; i < index.list().size(); ++i) {
    const RecordSpan value = index.list().at(i);
    const uint64_t likely = likely_next(before, snapshot.meta.page_bytes);
    writer.add_varint(zigzag(value.offset - likely));
    writer.add_varint(zigzag(uint64_t{value.bytes} - before.bytes));
    before = value;
  }
  write_labels(writer, index.labels());
  return writer.finish();
}

Result<RecordIndex> parse_sidecar(std::string_view text,
                                  const Snapshot& snapshot) {
  if (!text.starts_with(kMagic)) return not_an_index("it is another file");
  if (text.size() < kHeaderBytes + kChecksumBytes) {
    return not_an_index("it is truncated");
  }
  const std::string_view body = text.substr(0, text.size() - kChecksumBytes);
  Reader reader(body.substr(kMagic.size()));
  const auto version = reader.take<uint32_t>();
  if (version != kVersion) {
    return not_an_index("its version is " + std::to_string(version) +
                        "; allowed: " + std::to_string(kVersion));
  }
  if (Reader(text.substr(body.size())).take<uint64_t>() != checksum(body)) {
    return not_an_index("its checksum is wrong");
  }
  Status same = check_identity(reader, snapshot);
  if (!same) return std::move(same).error();
  SidecarCounts counts{};
  counts.records = reader.take<uint64_t>();
  counts.parts = reader.take<uint64_t>();
  counts.listed = reader.take<uint64_t>();
  if (counts.records != snapshot.meta.main.records ||
      counts.records > snapshot.file_bytes / kRecordMinBytes ||
      counts.parts > reader.rest().size() / kPartBytes) {
    return not_an_index("its counts are wrong");
  }
  auto parts = read_parts(reader, counts, snapshot.file_bytes);
  if (!parts) return std::move(parts).error();
  auto list = read_list(reader, counts.listed, snapshot.bounds());
  if (!list) return std::move(list).error();
  auto labels = read_labels(reader, counts.records);
  if (!labels) return std::move(labels).error();
  return RecordIndex(*std::move(parts), *std::move(list), *std::move(labels));
}

}  // namespace penstock::lmdb
