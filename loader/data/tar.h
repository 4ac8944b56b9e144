// Iterates over a tar archive's headers: ustar, with the names and sizes of pax
// and GNU tar. Pure, except for the source's reads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "common/result.h"

namespace penstock {

struct TarMember {
  std::string name;
  uint64_t offset = 0;  // of its first byte in the archive
  uint64_t bytes = 0;
};

class TarWalker {
 public:
  struct Source {
    uint64_t bytes = 0;  // of the archive
    // Fills `out` from `offset` on. Never called for bytes beyond `bytes`.
    std::function<Status(uint64_t offset, std::span<uint8_t> out)> read;
  };
  explicit TarWalker(Source source) : source_(std::move(source)) {}

  // The next regular file; skips links, folders and devices. nullopt: the
  // archive's end mark.
  // Errors: those of the source; kInvalidArgument  not a tar, damaged, cut
  //         short, a sparse file, or a name over 64 KiB; names the offset
  [[nodiscard]] Result<std::optional<TarMember>> next();

  static constexpr uint64_t kBlockBytes = 512;

 private:
  // Fields of extension headers, which apply to the next member only.
  struct Overrides {
    std::optional<std::string> name;
    std::optional<uint64_t> bytes;
  };
  // An error at the header at header_.
  Error damaged(const std::string& what) const;
  Result<bool> read_header();  // false: the end mark
  Status take_header();
  Result<std::string> read_text();
  Status read_pax();
  Status set_pax(std::string_view key, std::string_view value);
  std::string header_name() const;

  const Source source_;
  uint64_t at_ = 0;      // offset of the next header
  uint64_t header_ = 0;  // offset of the current header
  uint8_t block_[kBlockBytes] = {};
  uint64_t size_bytes_ = 0;  // of the current member's data
  Overrides overrides_;
};

}  // namespace penstock
