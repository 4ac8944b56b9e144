// The files of a pass-through that the kernel has looked up, by inode number.
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

// One file of the source, as of its look-up.
struct SourceFile {
  std::string path;  // relative to the source's root, which is "."
  dev_t device = 0;
  ino_t inode = 0;

  // Path of the entry `name` in this directory.
  std::string path_of(std::string_view name) const;
  friend bool operator<(const SourceFile& a, const SourceFile& b) {
    return std::tie(a.path, a.device, a.inode) <
           std::tie(b.path, b.device, b.inode);
  }
};

// Numbers are never reused: a file that replaces another at its path gets a new
// one. Thread-safe.
class InodeTable {
 public:
  static constexpr uint64_t kRoot = 1;

  explicit InodeTable(const SourceFile& root);

  // nullopt: never looked up, or forgotten.
  std::optional<SourceFile> find(uint64_t number) const;
  // Returns the file's number and counts one look-up.
  uint64_t look_up(const SourceFile& file);
  // Subtracts look-ups; the number is removed with the last one. The root is
  // never removed.
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
