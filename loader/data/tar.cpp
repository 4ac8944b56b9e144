#include "loader/data/tar.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "common/text_scan.h"

namespace penstock {
namespace {

constexpr uint64_t kMostTextBytes = 65536;  // of a name or of pax records

// The fields of POSIX's ustar header that matter here.
struct Field {
  size_t offset;
  size_t bytes;
};
constexpr Field kName{0, 100};
constexpr Field kSize{124, 12};
constexpr Field kChecksum{148, 8};
constexpr size_t kType = 156;
constexpr Field kMagic{257, 6};
constexpr Field kPrefix{345, 155};

std::string_view text_of(const uint8_t* block, Field field) {
  const std::string_view all(
      reinterpret_cast<const char*>(block) + field.offset, field.bytes);
  return all.substr(0, all.find('\0'));
}

// Octal digits with optional blanks around them, or GNU's big-endian binary.
std::optional<uint64_t> number_of(const uint8_t* block, Field field) {
  const uint8_t* const begin = block + field.offset;
  if (*begin & 0x80) {
    uint64_t value = *begin & 0x7f;
    for (size_t i = 1; i < field.bytes; ++i) {
      if (value >> 55) return std::nullopt;  // overflow, or GNU's negatives
      value = value << 8 | begin[i];
    }
    return value;
  }
  std::string_view text = text_of(block, field);
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (text.empty()) return 0;
  uint64_t value = 0;
  if (!to_number(text, value, 8)) return std::nullopt;
  return value;
}

bool is_checksum_right(const uint8_t* block) {
  uint64_t sum = 0;
  for (size_t i = 0; i < TarWalker::kBlockBytes; ++i) {
    const bool in_field =
        i >= kChecksum.offset && i < kChecksum.offset + kChecksum.bytes;
    sum += in_field ? uint64_t{' '} : block[i];
  }
  return number_of(block, kChecksum) == sum;
}

// Old tars write '\0' for regular files.
bool is_regular(char type) {
  return type == '0' || type == '\0' || type == '7';
}

// Links, devices, folders and pipes have no data, whatever their size field
// says.
bool is_without_bytes(char type) { return type >= '1' && type <= '6'; }

}  // namespace

Error TarWalker::damaged(const std::string& what) const {
  return invalid("tar: at byte " + std::to_string(header_) + ": " + what);
}

Result<bool> TarWalker::read_header() {
  header_ = at_;
  if (at_ > source_.bytes || source_.bytes - at_ < kBlockBytes) {
    return damaged("cut short: a header or the end mark is missing");
  }
  auto read = source_.read(at_, block_);
  if (!read) return std::move(read).error();
  if (std::all_of(std::begin(block_), std::end(block_),
                  [](uint8_t byte) { return byte == 0; })) {
    return false;
  }
  auto taken = take_header();
  if (!taken) return std::move(taken).error();
  return true;
}

Status TarWalker::take_header() {
  if (!is_checksum_right(block_)) {
    return damaged(header_ == 0 ? "no tar header; compressed archives have to "
                                  "be unpacked first"
                                : "damaged header: its checksum is wrong");
  }
  const auto size_bytes = number_of(block_, kSize);
  if (!size_bytes) return damaged("damaged header: its size is not a number");
  const char type = static_cast<char>(block_[kType]);
  const bool is_extension =
      type == 'x' || type == 'g' || type == 'L' || type == 'K';
  size_bytes_ = *size_bytes;
  if (!is_extension && overrides_.bytes) size_bytes_ = *overrides_.bytes;
  if (is_without_bytes(type)) size_bytes_ = 0;
  const uint64_t begin = header_ + kBlockBytes;
  if (size_bytes_ > source_.bytes - begin) {
    return damaged("cut short: " + std::to_string(size_bytes_) +
                   " bytes are to follow, " +
                   std::to_string(source_.bytes - begin) + " do");
  }
  at_ = begin + (size_bytes_ + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  return Done{};
}

Result<std::string> TarWalker::read_text() {
  if (size_bytes_ > kMostTextBytes) {
    return damaged("a name or pax header of " + std::to_string(size_bytes_) +
                   " bytes; allowed: 64 KiB");
  }
  std::string text(size_bytes_, '\0');
  auto read =
      source_.read(header_ + kBlockBytes,
                   {reinterpret_cast<uint8_t*>(text.data()), text.size()});
  if (!read) return std::move(read).error();
  return text;
}

// Records "LENGTH KEY=VALUE\n", where LENGTH counts the whole record.
Status TarWalker::read_pax() {
  const auto text = read_text();
  if (!text) return text.error();
  std::string_view rest = *text;
  while (!rest.empty()) {
    size_t length = 0;
    const auto [stop, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), length);
    const auto digits = static_cast<size_t>(stop - rest.data());
    if (error != std::errc() || length <= digits + 1 || length > rest.size() ||
        rest[digits] != ' ' || rest[length - 1] != '\n') {
      return damaged("damaged pax header");
    }
    const std::string_view record =
        rest.substr(digits + 1, length - digits - 2);
    const size_t equals = record.find('=');
    if (equals == std::string_view::npos) return damaged("damaged pax header");
    auto set = set_pax(record.substr(0, equals), record.substr(equals + 1));
    if (!set) return set;
    rest.remove_prefix(length);
  }
  return Done{};
}

Status TarWalker::set_pax(std::string_view key, std::string_view value) {
  if (key == "path") overrides_.name = std::string(value);
  if (key.starts_with("GNU.sparse.")) {
    return damaged("sparse files are not handled; write the archive without");
  }
  if (key != "size") return Done{};
  uint64_t bytes = 0;
  if (!to_number(value, bytes)) return damaged("damaged pax header");
  overrides_.bytes = bytes;
  return Done{};
}

std::string TarWalker::header_name() const {
  std::string name(text_of(block_, kName));
  const std::string_view prefix = text_of(block_, kPrefix);
  // GNU's own format has other fields there; its magic is not "ustar\0".
  if (text_of(block_, kMagic) == "ustar" && !prefix.empty()) {
    name = std::string(prefix) + "/" + name;
  }
  return name;
}

Result<std::optional<TarMember>> TarWalker::next() {
  for (;;) {
    auto is_header = read_header();
    if (!is_header) return std::move(is_header).error();
    if (!*is_header) return std::optional<TarMember>();
    const char type = static_cast<char>(block_[kType]);
    if (type == 'x') {
      auto read = read_pax();
      if (!read) return std::move(read).error();
      continue;
    }
    if (type == 'L') {
      auto name = read_text();
      if (!name) return std::move(name).error();
      overrides_.name = name->substr(0, name->find('\0'));
      continue;
    }
    if (type == 'K' || type == 'g') continue;
    if (type == 'S') {
      return damaged("sparse files are not handled; write the archive without");
    }
    const Overrides overrides = std::exchange(overrides_, {});
    if (!is_regular(type)) continue;
    return std::optional(TarMember{overrides.name.value_or(header_name()),
                                   header_ + kBlockBytes, size_bytes_});
  }
}

}  // namespace penstock
