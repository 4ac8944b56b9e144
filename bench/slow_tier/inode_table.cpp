#include "bench/slow_tier/inode_table.h"

namespace penstock {

std::string SourceFile::path_of(std::string_view name) const {
  if (path == ".") return std::string(name);
  std::string out = path;
  out += '/';
  out += name;
  return out;
}

InodeTable::InodeTable(const SourceFile& root) { look_up(root); }

std::optional<SourceFile> InodeTable::find(uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(number);
  if (found == entries_.end()) return std::nullopt;
  return found->second.file->first;
}

uint64_t InodeTable::look_up(const SourceFile& file) {
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = numbers_.try_emplace(file, next_);
  if (is_new) entries_[next_++].file = place;
  ++entries_[place->second].lookups;
  return place->second;
}

void InodeTable::forget(uint64_t number, uint64_t lookups) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(number);
  if (number == kRoot || found == entries_.end()) return;
  if (found->second.lookups > lookups) {
    found->second.lookups -= lookups;
    return;
  }
  numbers_.erase(found->second.file);
  entries_.erase(found);
}

size_t InodeTable::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace penstock
