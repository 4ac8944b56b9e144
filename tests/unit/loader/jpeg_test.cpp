#include "loader/jpeg.h"

#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"

using penstock::choose_scale;
using penstock::JpegDecoder;
using penstock::JpegScale;
using penstock::test::bytes_of;
using penstock::test::jpeg_bytes;

TEST_CASE("the scale is the smallest that still covers the crop") {
  CHECK(choose_scale(500, 375, 224).eighths == 8);
  CHECK(choose_scale(448, 448, 224).eighths == 4);
  CHECK(choose_scale(447, 448, 224).eighths == 8);
  CHECK(choose_scale(2000, 448, 224).eighths == 4);
  CHECK(choose_scale(896, 900, 224).eighths == 2);
  CHECK(choose_scale(1792, 1792, 224).eighths == 1);
  CHECK(choose_scale(100000, 100000, 224).eighths == 1);
  CHECK(choose_scale(10, 10, 224).eighths == 8);  // enlarged anyway
}

TEST_CASE("a JPEG is decoded at each scale") {
  const auto file = jpeg_bytes(81, 60, 1);
  JpegDecoder decoder;
  auto size = decoder.read_size(file);
  REQUIRE(size);
  CHECK(size->width == 81);
  CHECK(size->height == 60);
  auto full = decoder.decode(file, JpegScale{8});
  REQUIRE(full);
  // Pixel (40, 30) of the test picture; JPEG is not exact.
  CHECK(full->row(30)[3 * 40] == Approx((40 + 30 + 13) / 2).margin(4));
  auto half = decoder.decode(file, JpegScale{4});
  REQUIRE(half);
  CHECK(half->width == 41);
  CHECK(half->height == 30);
  CHECK(half->row(15)[3 * 20] == Approx((40 + 30 + 13) / 2).margin(6));
  auto eighth = decoder.decode(file, JpegScale{1});
  REQUIRE(eighth);
  CHECK(eighth->width == 11);
  CHECK(eighth->height == 8);
}

TEST_CASE("what is no JPEG is refused, and the decoder goes on working") {
  JpegDecoder decoder;
  CHECK_FALSE(decoder.read_size(bytes_of("")));
  CHECK_FALSE(decoder.read_size(bytes_of("P6 1 1 255\nabc")));
  CHECK_FALSE(decoder.decode(bytes_of("\xff\xd8\xff"), JpegScale{8}));
  CHECK(decoder.decode(jpeg_bytes(16, 16, 1), JpegScale{8}));
}

TEST_CASE("every shortened JPEG is refused") {
  const auto whole = jpeg_bytes(64, 48, 3);
  JpegDecoder decoder;
  for (size_t size = 0; size + 2 < whole.size(); ++size) {
    const std::vector<uint8_t> part(whole.begin(),
                                    whole.begin() + static_cast<long>(size));
    CAPTURE(size, whole.size());
    auto image = decoder.decode(part, JpegScale{8});
    REQUIRE_FALSE(image);
    CHECK(image.error().code == penstock::Code::kInvalidArgument);
  }
}
