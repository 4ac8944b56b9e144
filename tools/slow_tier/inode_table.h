// The files that the kernel has looked up in a pass-through, by number.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace penstock {

// One file of the source, as it was when it was looked up.
struct SourceFile {
  std::string path;  // from the source's root; "." is that
  dev_t device = 0;
  ino_t inode = 0;

  // What is called name in this directory.
  std::string path_of(std::string_view name) const;
  friend bool operator<(const SourceFile& a, const SourceFile& b) {
    return std::tie(a.path, a.device, a.inode) <
           std::tie(b.path, b.device, b.inode);
  }
};

// Numbers are never used again: a file that replaces another at its path is
// another file. Thread-safe.
class InodeTable {
 public:
  static constexpr uint64_t kRoot = 1;

  explicit InodeTable(const SourceFile& root);

  // nullopt: not looked up, or forgotten.
  std::optional<SourceFile> find(uint64_t number) const;
  // The file's number, which then lives for one look-up more.
  uint64_t look_up(const SourceFile& file);
  // Takes so many of its look-ups back; with the last the number goes. The
  // root stays.
  void forget(uint64_t number, uint64_t lookups);
  size_t size() const;

 private:
  using Numbers = std::map<SourceFile, uint64_t>;
  struct Entry {
    Numbers::iterator file;
    uint64_t lookups = 0;
  };

  mutable std::mutex mutex_;
  Numbers numbers_;
  std::unordered_map<uint64_t, Entry> entries_;
  uint64_t next_ = kRoot;
};

}  // namespace penstock
