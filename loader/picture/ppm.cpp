#include "loader/picture/ppm.h"

#include <charconv>
#include <string>

namespace penstock {
namespace {

bool is_space(uint8_t c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' ||
         c == '\f';
}

// Parses the header's numbers.
class HeaderReader {
 public:
  explicit HeaderReader(std::span<const uint8_t> text) : text_(text) {}

  // Skips white space and comments, then reads a decimal number in [1, high].
  Result<int> number(const char* what, int high) {
    skip_space();
    const char* begin = reinterpret_cast<const char*>(text_.data()) + at_;
    const char* end =
        reinterpret_cast<const char*>(text_.data()) + text_.size();
    int value = 0;
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error != std::errc() || value < 1 || value > high) {
      return invalid(std::string("PPM header: ") + what +
                     " is not a number from 1 to " + std::to_string(high));
    }
    at_ += static_cast<size_t>(stop - begin);
    return value;
  }

  // Offset of the pixels, after the single white-space byte that ends the
  // header.
  Result<size_t> end() {
    if (at_ >= text_.size() || !is_space(text_[at_])) {
      return invalid("PPM header: no white space after the maximum");
    }
    return at_ + 1;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (is_space(text_[at_]) || text_[at_] == '#')) {
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        ++at_;
      }
    }
  }

  std::span<const uint8_t> text_;
  size_t at_ = 2;  // behind "P6"
};

}  // namespace

Result<ImageView> parse_ppm(std::span<const uint8_t> file) {
  if (file.size() < 3 || file[0] != 'P' || file[1] != '6') {
    return invalid("not a binary PPM: the file does not begin with P6");
  }
  HeaderReader reader(file);
  auto width = reader.number("width", kMaxSidePixels);
  if (!width) return width.error();
  auto height = reader.number("height", kMaxSidePixels);
  if (!height) return height.error();
  auto maximum = reader.number("maximum", 65535);
  if (!maximum) return maximum.error();
  auto begin = reader.end();
  if (!begin) return begin.error();
  if (*maximum != 255) {
    return invalid("PPM header: maximum " + std::to_string(*maximum) +
                   " is not handled; allowed: 255");
  }
  const uint64_t pixels =
      static_cast<uint64_t>(*width) * static_cast<uint64_t>(*height);
  if (pixels > kMaxPixels) return invalid("PPM: over 256 Mpixel");
  if (file.size() - *begin < pixels * 3) {
    return invalid("PPM cut short: " + std::to_string(file.size() - *begin) +
                   " bytes of pixels, " + std::to_string(pixels * 3) +
                   " expected");
  }
  return ImageView{file.data() + *begin, *width, *height};
}

}  // namespace penstock
