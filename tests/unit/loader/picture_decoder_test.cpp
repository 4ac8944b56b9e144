#include "loader/picture/picture_decoder.h"

#include "tests/unit/catch.h"
#include "tests/unit/loader/encoded.h"
#include "tests/unit/loader/pictures.h"

using namespace penstock;
using namespace penstock::test;

TEST_CASE("the first bytes of a picture determine its format") {
  const auto format_of = [](const std::vector<uint8_t>& file) {
    auto format = picture_format(file);
    REQUIRE(format);
    return *format;
  };
  CHECK(format_of(jpeg_bytes(8, 8, 1)) == PictureFormat::kJpeg);
  CHECK(format_of(png_of({1, 1, 0, 8, false, {1}})) == PictureFormat::kPng);
  CHECK(format_of(webp_of(1, 1, {1, 2, 3})) == PictureFormat::kWebp);
  CHECK(format_of(ppm_bytes(1, 1, 1)) == PictureFormat::kPpm);
}

TEST_CASE("data without a known signature is refused") {
  for (const char* text : {"", "P", "P5 1 1 255\n.", "GIF89a", "RIFF",
                           "RIFF....WAVE", "\x89PNG", "\xff\xd8", "BM"}) {
    CAPTURE(text);
    const auto format = picture_format(bytes_of(text));
    REQUIRE_FALSE(format);
    CHECK(format.error().code == Code::kInvalidArgument);
    CHECK_THAT(format.error().message,
               Catch::Matchers::ContainsSubstring("not a picture"));
  }
}

TEST_CASE("one decoder decodes every format in turn") {
  PictureDecoder decoder;
  const std::vector<uint8_t> rows{1, 2, 3, 4, 5, 6};
  auto ppm = bytes_of("P6 2 1 255\n");
  ppm.insert(ppm.end(), rows.begin(), rows.end());
  const std::vector<uint8_t> files[] = {png_of({2, 1, 2, 8, false, rows}),
                                        webp_of(2, 1, rows), ppm,
                                        png_of({2, 1, 2, 8, true, rows})};
  for (const auto& file : files) {
    const auto format = picture_format(file);
    REQUIRE(format);
    const auto image = decoder.decode(*format, file);
    REQUIRE(image);
    CHECK(std::vector<uint8_t>(image->pixels, image->row(1)) == rows);
  }
}
