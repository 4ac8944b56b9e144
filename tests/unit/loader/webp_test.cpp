#include "loader/webp.h"

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

TEST_CASE("a WebP becomes RGB, transparency is dropped") {
  WebpDecoder decoder;
  const Bytes rows = numbered_bytes(3 * 13 * 7);
  auto image = decoder.decode(webp_of(13, 7, rows));
  REQUIRE(image);
  CHECK(image->width == 13);
  CHECK(image->height == 7);
  CHECK(Bytes(image->pixels, image->row(7)) == rows);
  auto alpha = decoder.decode(webp_of(2, 1, {1, 2, 3, 255, 4, 5, 6, 128}));
  REQUIRE(alpha);
  CHECK(Bytes(alpha->pixels, alpha->row(1)) == Bytes{1, 2, 3, 4, 5, 6});
}

TEST_CASE("every shortened WebP is refused, and the decoder goes on working") {
  const Bytes whole = webp_of(13, 7, numbered_bytes(3 * 13 * 7));
  WebpDecoder decoder;
  for (size_t size = 1; size < whole.size(); ++size) {
    CAPTURE(size, whole.size());
    const auto image = decoder.decode(
        Bytes(whole.begin(), whole.begin() + static_cast<long>(size)));
    REQUIRE_FALSE(image);
    CHECK(image.error().code == Code::kInvalidArgument);
    CHECK_THAT(image.error().message, ContainsSubstring("WebP: cut short"));
  }
  CHECK(decoder.decode(whole));
}

TEST_CASE("what is no WebP of one picture is refused") {
  WebpDecoder decoder;
  const auto none = decoder.decode(bytes_of(std::string(100, 'x')));
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().message, ContainsSubstring("WebP: damaged"));
  // An extended header: animated, 1 x 1.
  Bytes animated = bytes_of("RIFF");
  animated.insert(animated.end(), {22, 0, 0, 0});
  for (const char c : std::string("WEBPVP8X")) {
    animated.push_back(static_cast<uint8_t>(c));
  }
  animated.insert(animated.end(), {10, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const auto refused = decoder.decode(animated);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kInvalidArgument);
  CHECK_THAT(refused.error().message, ContainsSubstring("animated"));
}
