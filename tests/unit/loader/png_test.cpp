#include "loader/picture/png.h"

#include "tests/unit/catch.h"
#include "tests/unit/loader/encoded.h"
#include "tests/unit/loader/pictures.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

using Bytes = std::vector<uint8_t>;

// The decoded pixels of a picture of one row.
Bytes decode_row(const PngPicture& picture) {
  PixelBuffer buffer;
  auto image = decode_png(png_of(picture), buffer);
  if (!image) INFO(image.error().message);
  REQUIRE(image);
  REQUIRE(image->width == picture.width);
  REQUIRE(image->height == 1);
  return {image->pixels, image->row(1)};
}

PngPicture large_picture() {
  PngPicture picture{.width = 37, .height = 21};
  for (int i = 0; i < 37 * 21 * 3; ++i) {
    picture.rows.push_back(static_cast<uint8_t>(i * 31 / 7));
  }
  return picture;
}

void check_error(const Bytes& file, const std::string& why) {
  PixelBuffer buffer;
  const auto image = decode_png(file, buffer);
  REQUIRE_FALSE(image);
  CHECK(image.error().code == Code::kInvalidArgument);
  CHECK_THAT(image.error().message, ContainsSubstring(why));
}

}  // namespace

TEST_CASE("every colour type and depth becomes RGB of 8 bits") {
  CHECK(decode_row({2, 1, 2, 8, false, {1, 2, 3, 4, 5, 6}}) ==
        Bytes{1, 2, 3, 4, 5, 6});
  CHECK(decode_row(
            {2, 1, 2, 16, false, {1, 255, 2, 0, 3, 9, 4, 1, 5, 2, 6, 3}}) ==
        Bytes{1, 2, 3, 4, 5, 6});
  CHECK(decode_row({2, 1, 0, 8, false, {7, 9}}) == Bytes{7, 7, 7, 9, 9, 9});
  CHECK(decode_row({2, 1, 0, 16, false, {7, 200, 9, 1}}) ==
        Bytes{7, 7, 7, 9, 9, 9});
  CHECK(decode_row({3, 1, 0, 1, false, {0b10100000}}) ==
        Bytes{255, 255, 255, 0, 0, 0, 255, 255, 255});
  CHECK(decode_row({2, 1, 0, 2, false, {0b01110000}}) ==
        Bytes{85, 85, 85, 255, 255, 255});
  CHECK(decode_row({2, 1, 0, 4, false, {0x1f}}) ==
        Bytes{17, 17, 17, 255, 255, 255});
}

TEST_CASE("palette colours are resolved, and transparency is dropped") {
  const Bytes colours{10, 20, 30, 40, 50, 60, 70, 80, 90};
  CHECK(decode_row({3, 1, 3, 8, false, {2, 0, 1}, colours}) ==
        Bytes{70, 80, 90, 10, 20, 30, 40, 50, 60});
  CHECK(decode_row({3, 1, 3, 2, false, {0b10000100}, colours, {0, 128}}) ==
        Bytes{70, 80, 90, 10, 20, 30, 40, 50, 60});
  // Fully transparent colours are kept.
  CHECK(decode_row({2, 1, 6, 8, false, {1, 2, 3, 0, 4, 5, 6, 128}}) ==
        Bytes{1, 2, 3, 4, 5, 6});
  CHECK(decode_row({2, 1, 4, 8, false, {7, 0, 9, 255}}) ==
        Bytes{7, 7, 7, 9, 9, 9});
  CHECK(decode_row({1, 1, 4, 16, false, {7, 8, 0, 0}}) == Bytes{7, 7, 7});
}

TEST_CASE("interlaced pictures are decoded, and a buffer is reusable") {
  PixelBuffer buffer;
  PngPicture picture = large_picture();
  for (const bool is_interlaced : {true, false, true}) {
    picture.is_interlaced = is_interlaced;
    auto image = decode_png(png_of(picture), buffer);
    REQUIRE(image);
    CHECK(Bytes(image->pixels, image->row(21)) == picture.rows);
    CHECK(decode_png(png_of({1, 1, 0, 8, false, {1}}), buffer));
    CHECK_FALSE(decode_png(bytes_of("no PNG"), buffer));
  }
}

TEST_CASE("every truncated PNG is refused") {
  const Bytes whole = png_of(large_picture());
  for (size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size, whole.size());
    check_error(Bytes(whole.begin(), whole.begin() + static_cast<long>(size)),
                "PNG: ");
  }
}

TEST_CASE("a PNG with damaged pixels is refused") {
  const Bytes whole = png_of(large_picture());
  // From the header's chunk on, any change makes a checksum wrong.
  for (size_t at = 8; at < whole.size(); at += 5) {
    Bytes file = whole;
    file[at] ^= 0x10;
    CAPTURE(at, whole.size());
    PixelBuffer buffer;
    const auto image = decode_png(file, buffer);
    if (image) {
      // The change was in an ancillary chunk, without effect on pixels.
      CHECK(Bytes(image->pixels, image->row(21)) == large_picture().rows);
    }
  }
  Bytes file = whole;
  file[whole.size() / 2] ^= 1;
  check_error(file, "PNG: ");
}

TEST_CASE(
    "a PNG beyond the size limits is refused before memory is allocated") {
  Bytes file = png_of({1, 1, 0, 8, false, {1}});
  const auto set_size = [&](uint32_t width, uint32_t height) {
    for (size_t i = 0; i < 4; ++i) {
      file[16 + i] = static_cast<uint8_t>(width >> (24 - 8 * i));
      file[20 + i] = static_cast<uint8_t>(height >> (24 - 8 * i));
    }
    uint32_t crc = 0xffffffff;  // of the chunk's name and what is in it
    for (size_t i = 12; i < 29; ++i) {
      crc ^= file[i];
      for (int bit = 0; bit < 8; ++bit) {
        crc = crc & 1 ? 0xedb88320 ^ crc >> 1 : crc >> 1;
      }
    }
    for (size_t i = 0; i < 4; ++i) {
      file[29 + i] = static_cast<uint8_t>(~crc >> (24 - 8 * i));
    }
  };
  set_size(65501, 1);
  check_error(file, "PNG: ");
  set_size(65500, 65500);
  check_error(file, "PNG: over 256 Mpixel");
  set_size(0, 1);
  check_error(file, "PNG: ");
}

TEST_CASE("a PNG beyond the memory bound is refused") {
  PixelBuffer buffer(3 * 37 * 21 - 1);
  const auto image = decode_png(png_of(large_picture()), buffer);
  REQUIRE_FALSE(image);
  CHECK(image.error().code == Code::kLimit);
  CHECK_THAT(image.error().message,
             ContainsSubstring("PNG: takes 2331 bytes when decoded; the memory "
                               "bound leaves 2330"));
  CHECK(decode_png(png_of({1, 1, 0, 8, false, {1}}), buffer));
}
