#include "loader/lmdb/tree_walk.h"

#include <algorithm>
#include <string>

namespace penstock::lmdb {
namespace {

constexpr size_t kBatchBytes = size_t{1} << 20;
// Limit for joining adjacent pages of the file to one read.
constexpr size_t kReadBytes = size_t{256} << 10;

// Reads pages in the order of a list, in batches.
class PageReader {
 public:
  PageReader(PageSource& source, uint32_t page_bytes)
      : source_(source), page_bytes_(page_bytes) {}

  // Calls take(page, page number) for each page.
  template <class Take>
  Status for_each(std::span<const uint64_t> pages, Take take) {
    const size_t batch =
        std::min<size_t>(kBatchBytes / page_bytes_, pages.size());
    buffer_.resize(batch * page_bytes_);
    for (size_t from = 0; from < pages.size(); from += batch) {
      const auto part =
          pages.subspan(from, std::min(batch, pages.size() - from));
      if (Status got = source_.read(ranges(part)); !got) return got;
      for (size_t i = 0; i < part.size(); ++i) {
        const Bytes page(buffer_.data() + i * page_bytes_, page_bytes_);
        if (Status taken = take(page, part[i]); !taken) return taken;
      }
    }
    return Done{};
  }

 private:
  const std::vector<PageRange>& ranges(std::span<const uint64_t> pages) {
    ranges_.clear();
    for (size_t i = 0; i < pages.size(); ++i) {
      const std::span<uint8_t> into(buffer_.data() + i * page_bytes_,
                                    page_bytes_);
      const bool is_next = i > 0 && pages[i] == pages[i - 1] + 1 &&
                           ranges_.back().into.size() < kReadBytes;
      if (is_next) {
        auto& last = ranges_.back().into;
        last = {last.data(), last.size() + page_bytes_};
      } else {
        ranges_.push_back({pages[i] * page_bytes_, into});
      }
    }
    return ranges_;
  }

  PageSource& source_;
  size_t page_bytes_;
  std::vector<uint8_t> buffer_;
  std::vector<PageRange> ranges_;
};

Error too_many_pages() {
  return Error{Code::kIo, 0,
               "the database is damaged: its tree has more pages than it has"};
}

Error miscounted(const std::string& found, const Snapshot& snapshot) {
  return Error{Code::kIo, 0,
               "the database is damaged: its pages have " + found +
                   " records, and its meta page says that there are " +
                   std::to_string(snapshot.meta.main.records)};
}

}  // namespace

Result<std::vector<uint64_t>> find_leaves(PageSource& source,
                                          const Snapshot& snapshot) {
  const Tree& tree = snapshot.meta.main;
  const Bounds bounds = snapshot.bounds();
  std::vector<uint64_t> level;
  if (tree.root == kNoPage) return level;
  if ((tree.root + 1) * bounds.page_bytes > bounds.file_bytes) {
    return Error{Code::kIo, 0,
                 "the file is truncated: its root, page " +
                     std::to_string(tree.root) + ", is beyond its " +
                     std::to_string(bounds.file_bytes) + " bytes"};
  }
  level.push_back(tree.root);
  // Bounded by the file's size: the meta page may be damaged.
  const uint64_t most_pages =
      std::min(bounds.last_page + 1, bounds.file_bytes / bounds.page_bytes);
  PageReader reader(source, bounds.page_bytes);
  for (int depth = 1; depth < tree.depth; ++depth) {
    std::vector<uint64_t> below;
    Status read = reader.for_each(level, [&](Bytes page, uint64_t number) {
      // With circular references a level would grow beyond the file's pages.
      if (below.size() > most_pages) return Status(too_many_pages());
      return parse_branch(page, number, bounds, below);
    });
    if (!read) return std::move(read).error();
    level = std::move(below);
  }
  return level;
}

Status walk_leaves(PageSource& source, const Snapshot& snapshot,
                   std::span<const uint64_t> leaves, const TakeRecord& take) {
  const Bounds bounds = snapshot.bounds();
  PageReader reader(source, bounds.page_bytes);
  std::vector<Record> records;
  uint64_t left = snapshot.meta.main.records;
  return reader.for_each(leaves, [&](Bytes page, uint64_t number) {
    records.clear();
    Status parsed = parse_leaf(page, number, bounds, records);
    if (!parsed) return parsed;
    // A crafted file may have the same page in the list several times.
    if (records.size() > left) return Status(miscounted("more", snapshot));
    left -= records.size();
    std::for_each(records.begin(), records.end(), take);
    return parsed;
  });
}

Status walk_tree(PageSource& source, const Snapshot& snapshot,
                 const TakeRecord& take) {
  Result<std::vector<uint64_t>> leaves = find_leaves(source, snapshot);
  if (!leaves) return std::move(leaves).error();
  uint64_t count = 0;
  Status walked =
      walk_leaves(source, snapshot, *leaves, [&](const Record& record) {
        ++count;
        take(record);
      });
  if (walked && count != snapshot.meta.main.records) {
    return miscounted(std::to_string(count), snapshot);
  }
  return walked;
}

}  // namespace penstock::lmdb
