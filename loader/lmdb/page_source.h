// Source of pages: a file; in tests also others.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "common/result.h"
#include "common/unique_fd.h"
#include "loader/lmdb/page_batch.h"

namespace penstock::lmdb {

class PageSource {
 public:
  PageSource() = default;
  PageSource(const PageSource&) = delete;
  PageSource& operator=(const PageSource&) = delete;
  virtual ~PageSource() = default;

  // Fills all ranges, in any order. Blocks; not thread-safe.
  // Errors: kIo  reading failed, or the file ends before a range does
  [[nodiscard]] virtual Status read(std::span<const PageRange> ranges) = 0;
};

class FilePages : public PageSource {
 public:
  // fd: open for reading; owned by the caller, and must outlive this object.
  FilePages(int fd, PageBatch batch) : fd_(fd), batch_(std::move(batch)) {}
  [[nodiscard]] Status read(std::span<const PageRange> ranges) override {
    return batch_.read(fd_, ranges);
  }

 private:
  int fd_;
  PageBatch batch_;
};

}  // namespace penstock::lmdb
