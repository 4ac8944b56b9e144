#include "loader/picture/webp.h"

#include "tests/unit/catch.h"
#include "tests/unit/loader/encoded.h"
#include "tests/unit/loader/pictures.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

using Bytes = std::vector<uint8_t>;

Bytes numbered_bytes(size_t size) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 31 / 7);
  return bytes;
}

}  // namespace

TEST_CASE("a WebP becomes RGB without transparency") {
  PixelBuffer buffer;
  const Bytes rows = numbered_bytes(3 * 13 * 7);
  auto image = decode_webp(webp_of(13, 7, rows), buffer);
  REQUIRE(image);
  CHECK(image->width == 13);
  CHECK(image->height == 7);
  CHECK(Bytes(image->pixels, image->row(7)) == rows);
  auto alpha = decode_webp(webp_of(2, 1, {1, 2, 3, 255, 4, 5, 6, 128}), buffer);
  REQUIRE(alpha);
  CHECK(Bytes(alpha->pixels, alpha->row(1)) == Bytes{1, 2, 3, 4, 5, 6});
}

TEST_CASE("every truncated WebP is refused, and the buffer stays usable") {
  const Bytes whole = webp_of(13, 7, numbered_bytes(3 * 13 * 7));
  PixelBuffer buffer;
  for (size_t size = 1; size < whole.size(); ++size) {
    CAPTURE(size, whole.size());
    const auto image = decode_webp(
        Bytes(whole.begin(), whole.begin() + static_cast<long>(size)), buffer);
    REQUIRE_FALSE(image);
    CHECK(image.error().code == Code::kInvalidArgument);
    CHECK_THAT(image.error().message, ContainsSubstring("WebP: cut short"));
  }
  CHECK(decode_webp(whole, buffer));
}

TEST_CASE("WebP files without exactly one picture are refused") {
  PixelBuffer buffer;
  const auto none = decode_webp(bytes_of(std::string(100, 'x')), buffer);
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().message, ContainsSubstring("WebP: damaged"));
  // An extended header: animated, 1 x 1.
  Bytes animated = bytes_of("RIFF");
  animated.insert(animated.end(), {22, 0, 0, 0});
  for (const char c : std::string("WEBPVP8X")) {
    animated.push_back(static_cast<uint8_t>(c));
  }
  animated.insert(animated.end(), {10, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const auto refused = decode_webp(animated, buffer);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kInvalidArgument);
  CHECK_THAT(refused.error().message, ContainsSubstring("animated"));
}

TEST_CASE("a WebP beyond the memory bound is refused") {
  const Bytes file = webp_of(10, 10, numbered_bytes(300));
  PixelBuffer enough(700);
  CHECK(decode_webp(file, enough));
  PixelBuffer few(699);
  const auto image = decode_webp(file, few);
  REQUIRE_FALSE(image);
  CHECK(image.error().code == Code::kLimit);
  CHECK_THAT(image.error().message, ContainsSubstring("WebP: takes 700 bytes"));
}
