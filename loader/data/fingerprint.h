// Hash that identifies a data set, built piece by piece.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/checksum.h"
#include "loader/data/file_reader.h"

namespace penstock {

class Fingerprint {
 public:
  // Includes the length, so that adjacent pieces cannot be confused.
  void add(std::string_view text) {
    add(text.size());
    value_ = checksum(text, value_);
  }
  void add(uint64_t number) {
    value_ = checksum({reinterpret_cast<const char*>(&number), sizeof number},
                      value_);
  }
  // Without the device number, which differs between nodes.
  void add(const FileVersion& file) {
    add(file.bytes);
    add(static_cast<uint64_t>(file.modified_ns));
    add(file.inode);
  }

  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0;
};

}  // namespace penstock
