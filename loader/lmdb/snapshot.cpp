#include "loader/lmdb/snapshot.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

namespace penstock::lmdb {
namespace {

constexpr int kTries = 5;

struct MetaPair {
  Meta metas[2];

  const Meta& newest() const {
    return metas[0].txnid < metas[1].txnid ? metas[1] : metas[0];
  }
  bool operator==(const MetaPair&) const = default;
};

Result<Meta> read_meta(int fd, uint64_t offset) {
  std::array<uint8_t, kMetaBytes> page;
  ssize_t got;
  do {
    got = ::pread(fd, page.data(), page.size(), static_cast<off_t>(offset));
  } while (got < 0 && errno == EINTR);
  if (got < 0) return system_error(errno, "cannot read its meta page");
  return parse_meta({page.data(), static_cast<size_t>(got)});
}

Result<MetaPair> read_metas(int fd) {
  Result<Meta> first = read_meta(fd, 0);
  if (!first) return std::move(first).error();
  Result<Meta> second = read_meta(fd, first->page_bytes);
  if (!second && second.error().saved_errno != 0) return second.error();
  if (!second) {
    return Error{Code::kIo, 0,
                 "its second meta page is damaged: " + second.error().message};
  }
  if (first->page_bytes != second->page_bytes) {
    return Error{Code::kIo, 0, "its meta pages have two page sizes"};
  }
  return MetaPair{{*first, *second}};
}

Error being_written_or_copied() {
  return being_written(", or read a copy (mdb_copy)");
}

}  // namespace

Error cut_short(uint64_t bytes) {
  return Error{Code::kIo, 0,
               "it has become shorter than its " + std::to_string(bytes) +
                   " bytes; start again when it is whole"};
}

Error being_written(const char* or_else) {
  return Error{Code::kUnavailable, 0,
               std::string("the database is being written; try again when its "
                           "writer is done") +
                   or_else};
}

Result<Snapshot> take_snapshot(int fd) {
  Result<MetaPair> seen = read_metas(fd);
  // Writers update meta pages in place: two equal reads are not torn.
  for (int i = 0; i < kTries; ++i) {
    Result<MetaPair> again = read_metas(fd);
    if (!seen && !again) return std::move(again).error();
    const bool is_settled = seen && again && *seen == *again;
    seen = std::move(again);
    if (!is_settled) continue;
    Status kind = check_kind(seen->newest());
    if (!kind) return std::move(kind).error();
    struct stat status {};
    if (::fstat(fd, &status) != 0) return system_error(errno, "cannot look");
    return Snapshot{seen->newest(), static_cast<uint64_t>(status.st_size),
                    status.st_mtim.tv_sec,
                    static_cast<uint32_t>(status.st_mtim.tv_nsec)};
  }
  return being_written_or_copied();
}

bool is_unchanged(Bytes mapped, const Snapshot& snapshot) {
  const uint64_t second = snapshot.meta.page_bytes;
  if (mapped.size() < second + kMetaBytes) return false;
  uint64_t newest = 0;
  bool is_there = false;
  for (const uint64_t offset : {uint64_t{0}, second}) {
    std::array<uint8_t, kMetaBytes> page;
    std::memcpy(page.data(), mapped.data() + offset, page.size());
    const Result<Meta> meta = parse_meta(page);
    if (!meta) return false;
    newest = std::max(newest, meta->txnid);
    is_there = is_there || *meta == snapshot.meta;
  }
  return is_there && newest == snapshot.meta.txnid;
}

Status check_intact(int fd, const Snapshot& snapshot) {
  Result<MetaPair> now = read_metas(fd);
  if (!now) {
    if (now.error().saved_errno != 0) return std::move(now).error();
    struct stat status {};
    const bool is_shorter =
        ::fstat(fd, &status) == 0 &&
        static_cast<uint64_t>(status.st_size) < snapshot.file_bytes;
    return is_shorter ? cut_short(snapshot.file_bytes)
                      : being_written_or_copied();
  }
  const Meta& newest = now->newest();
  const bool is_same = newest == snapshot.meta;
  const bool is_next = newest.txnid == snapshot.meta.txnid + 1 &&
                       newest.page_bytes == snapshot.meta.page_bytes;
  if (is_same || is_next) return Done{};
  return being_written_or_copied();
}

}  // namespace penstock::lmdb
