#include "loader/lmdb/verify.h"

#include <vector>

#include "loader/lmdb/library_reader.h"
#include "loader/lmdb/lmdb_database.h"
#include "loader/lmdb/page_source.h"
#include "loader/lmdb/tree_walk.h"

namespace penstock::lmdb {
namespace {

std::string_view text_of(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

// Shows non-printable bytes in hexadecimal: the file may hold any bytes, and
// they must not reach a terminal.
std::string shown(std::string_view key) {
  constexpr size_t kMost = 64;
  std::string out = "\"";
  for (const char c : key.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\') {
      out += c;
    } else {
      constexpr const char* kDigits = "0123456789abcdef";
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out + (key.size() > kMost ? "...\"" : "\"");
}

Error wrong_index(uint64_t record, const char* how) {
  return Error{Code::kIo, 0,
               "record " + std::to_string(record) + ": the index " + how +
                   "; write it again with `penstock lmdb index`"};
}

// Walks the tree and liblmdb's cursor in parallel.
class SideBySide {
 public:
  SideBySide(const Database& database, const LibraryReader& library,
             const GoOn& go_on)
      : database_(database),
        library_(library),
        go_on_(go_on),
        pages_(database.fd(), PageBatch(ReadWith::kPread)) {}

  Result<Verified> run() {
    FilePages pages(database_.fd(), PageBatch());
    Status walked =
        walk_tree(pages, database_.snapshot(), [&](const Record& record) {
          if (same_) same_ = compare(record);
        });
    if (!same_) return std::move(same_).error();
    if (!walked) return std::move(walked).error();
    MDB_val key, value;
    if (library_.next(key, value) != MDB_NOTFOUND) {
      return Error{Code::kIo, 0,
                   "liblmdb has more than these " +
                       std::to_string(seen_.records) + " records"};
    }
    seen_.has_index = database_.is_from_sidecar();
    seen_.index_refusal = database_.sidecar_refusal();
    return seen_;
  }

 private:
  Status compare(const Record& record) {
    const uint64_t number = seen_.records++;
    seen_.value_bytes += record.value.bytes;
    if (!go_on_(number, database_.index().size())) {
      return Error{Code::kUnavailable, 0, "interrupted"};
    }
    if (database_.index().at(number) != record.value) {
      return wrong_index(number, "has it elsewhere");
    }
    if (database_.index().label(number) != label_in_key(record.key, number)) {
      return wrong_index(number, "has another label");
    }
    if (Status read = read_value(record.value); !read) return read;
    MDB_val key, value;
    if (const int error = library_.next(key, value)) {
      return library_error(error, "record " + std::to_string(number) +
                                      ": liblmdb cannot read it");
    }
    return compare_record(number, record.key, value_, text_of(key),
                          text_of(value));
  }

  // Also reads and checks the overflow page's header, if there is one.
  Status read_value(const RecordSpan& value) {
    const uint32_t page_bytes = database_.snapshot().meta.page_bytes;
    const size_t before = is_overflow(value, page_bytes) ? kPageHeaderBytes : 0;
    buffer_.resize(before + value.bytes);
    const PageRange range{value.offset - before, buffer_};
    if (!buffer_.empty()) {
      if (Status got = pages_.read({&range, 1}); !got) return got;
    }
    value_ = {reinterpret_cast<const char*>(buffer_.data()) + before,
              value.bytes};
    if (before == 0) return Done{};
    return check_overflow(Bytes(buffer_).first(before), value, page_bytes);
  }

  const Database& database_;
  const LibraryReader& library_;
  const GoOn& go_on_;
  FilePages pages_;
  std::vector<uint8_t> buffer_;
  std::string_view value_;
  Status same_ = Done{};
  Verified seen_;
};

}  // namespace

Status compare_record(uint64_t number, std::string_view our_key,
                      std::string_view our_value, std::string_view library_key,
                      std::string_view library_value) {
  const std::string record = "record " + std::to_string(number);
  if (our_key != library_key) {
    return Error{Code::kIo, 0,
                 record + ": its key is " + shown(our_key) +
                     ", and liblmdb's is " + shown(library_key)};
  }
  if (our_value.size() != library_value.size()) {
    return Error{Code::kIo, 0,
                 record + " " + shown(our_key) + ": it has " +
                     std::to_string(our_value.size()) +
                     " bytes, and liblmdb's " +
                     std::to_string(library_value.size())};
  }
  if (our_value == library_value) return Done{};
  size_t at = 0;
  while (our_value[at] == library_value[at]) ++at;
  return Error{Code::kIo, 0,
               record + " " + shown(our_key) +
                   ": it differs from liblmdb's at byte " + std::to_string(at)};
}

Result<Verified> verify(const std::string& path, const GoOn& go_on) {
  // Opened before liblmdb, which does not check a file's contents.
  Result<Database> database = Database::open(path, {});
  if (!database) return std::move(database).error();
  LibraryReader library;
  Status opened =
      library.open_at(database->path(), database->fd(), database->snapshot());
  if (!opened) return std::move(opened).error();
  Result<Verified> verified = SideBySide(*database, library, go_on).run();
  if (Status intact = database->check_intact(); !intact) {
    return std::move(intact).error();
  }
  if (!verified) return std::move(verified).error().wrap(database->path());
  return verified;
}

}  // namespace penstock::lmdb
