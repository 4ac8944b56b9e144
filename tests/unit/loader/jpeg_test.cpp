#include "loader/picture/jpeg.h"

#include <algorithm>
#include <cmath>

#include "loader/data/random.h"
#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"

using penstock::choose_scale;
using penstock::Crop;
using penstock::Error;
using penstock::JpegDecoder;
using penstock::JpegPart;
using penstock::JpegScale;
using penstock::Random;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// The decoder's error for a crop of that picture.
penstock::Result<JpegPart> decoded(JpegDecoder& decoder,
                                   const std::vector<uint8_t>& file,
                                   const Crop& crop, int eighths = 8) {
  auto size = decoder.open(file);
  if (!size) return size.error();
  return decoder.decode(crop, JpegScale{eighths});
}

Error refused(const std::vector<uint8_t>& file) {
  JpegDecoder decoder;
  auto part = decoded(decoder, file, Crop{0, 0, 1, 1});
  REQUIRE_FALSE(part);
  CHECK(part.error().code == penstock::Code::kInvalidArgument);
  CHECK(part.error().message.starts_with("JPEG: "));
  return part.error();
}

// Offset of the height in the frame header; the width follows.
size_t height_place(const std::vector<uint8_t>& file) {
  for (size_t at = 0; at + 9 < file.size(); ++at) {
    if (file[at] == 0xff && (file[at + 1] == 0xc0 || file[at + 1] == 0xc2)) {
      return at + 5;
    }
  }
  FAIL("no frame header");
  return 0;
}

std::vector<uint8_t> with_size(std::vector<uint8_t> file, int width,
                               int height) {
  const size_t at = height_place(file);
  file[at] = static_cast<uint8_t>(height >> 8);
  file[at + 1] = static_cast<uint8_t>(height);
  file[at + 2] = static_cast<uint8_t>(width >> 8);
  file[at + 3] = static_cast<uint8_t>(width);
  return file;
}

const JpegRecipe kRecipes[] = {
    {.width = 151, .height = 97},
    {.width = 151, .height = 97, .colour_pixels_x = 2, .colour_pixels_y = 2},
    {.width = 160, .height = 96, .colour_pixels_x = 2},
    {.width = 151, .height = 97, .colour_pixels_y = 2},
    {.width = 151, .height = 97, .colour_pixels_x = 4},
    {.width = 151, .height = 97, .colour_pixels_x = 2, .colour_pixels_y = 4},
    {.width = 151, .height = 97, .colour_pixels_x = 4, .colour_pixels_y = 2},
    {.width = 151, .height = 97, .colours = JpegColours::kGrey},
    {.width = 151, .height = 97, .colours = JpegColours::kCmyk},
    {.width = 151,
     .height = 97,
     .colours = JpegColours::kYcck,
     .colour_pixels_x = 2,
     .colour_pixels_y = 2},
    {.width = 151,
     .height = 97,
     .colour_pixels_x = 2,
     .colour_pixels_y = 2,
     .progressive = true},
    {.width = 151,
     .height = 97,
     .colour_pixels_x = 2,
     .colour_pixels_y = 2,
     .restart_blocks = 3},
    {.width = 7, .height = 300, .colour_pixels_x = 2, .colour_pixels_y = 2},
    {.width = 1, .height = 1, .colour_pixels_x = 2, .colour_pixels_y = 2},
};

Crop crop_in(int width, int height, Random& random) {
  const auto below = [&](int bound) {
    return static_cast<double>(random.below(static_cast<uint64_t>(bound)));
  };
  Crop crop{below(width), below(height), 0, 0, false};
  crop.width = 1 + below(width - static_cast<int>(crop.x));
  crop.height = 1 + below(height - static_cast<int>(crop.y));
  return crop;
}

// Compares the pixels below the crop with those of the whole picture.
void check_same_pixels(const JpegPart& part, const Crop& crop,
                       const penstock::ImageView& whole) {
  const double end_x = crop.x + crop.width;
  const double end_y = crop.y + crop.height;
  REQUIRE(part.crop.x >= 0);
  REQUIRE(part.crop.y >= 0);
  REQUIRE(part.crop.x + part.crop.width <= part.image.width);
  REQUIRE(part.crop.y + part.crop.height <= part.image.height);
  const int left = static_cast<int>(crop.x - part.crop.x);
  const int top = static_cast<int>(crop.y - part.crop.y);
  const int begin = 3 * static_cast<int>(crop.x);
  const int end = 3 * static_cast<int>(std::ceil(end_x));
  for (int y = static_cast<int>(crop.y); y < end_y; ++y) {
    CAPTURE(y);
    const uint8_t* row = part.image.row(y - top) - 3 * left;
    REQUIRE(std::equal(row + begin, row + end, whole.row(y) + begin));
  }
}

// Offset of the last such marker before `end`.
size_t last_place(const std::vector<uint8_t>& file, int marker, size_t end) {
  for (size_t at = end - 1; at-- > 0;) {
    if (file[at] == 0xff && file[at + 1] == marker) return at;
  }
  FAIL("no marker " << marker);
  return 0;
}

size_t last_place(const std::vector<uint8_t>& file, int marker) {
  return last_place(file, marker, file.size());
}

std::vector<uint8_t> with_bytes(std::vector<uint8_t> file, size_t at,
                                size_t count, uint8_t value) {
  file.insert(file.begin() + static_cast<long>(at), count, value);
  return file;
}

// Padding before each restart marker of the last scan.
std::vector<uint8_t> with_padded_restarts(std::vector<uint8_t> file,
                                          size_t count, uint8_t value) {
  const size_t begin = last_place(file, 0xda);
  for (size_t at = file.size() - 2; at > begin; --at) {
    if (file[at] == 0xff && file[at + 1] >= 0xd0 && file[at + 1] <= 0xd7) {
      file = with_bytes(file, at, count, value);
    }
  }
  return file;
}

// Offset of the byte `behind` bytes after the text's beginning.
size_t place_in(const std::vector<uint8_t>& file, const std::string& text,
                size_t behind) {
  const auto at =
      std::search(file.begin(), file.end(), text.begin(), text.end());
  REQUIRE(at != file.end());
  return static_cast<size_t>(at - file.begin()) + behind;
}

// Both files are 64 x 48.
void check_same_picture(const std::vector<uint8_t>& odd,
                        const std::vector<uint8_t>& plain) {
  JpegDecoder odd_decoder;
  JpegDecoder plain_decoder;
  for (const Crop& crop : {Crop{0, 0, 64, 48}, Crop{0, 0, 9, 3}}) {
    const auto part = decoded(odd_decoder, odd, crop);
    REQUIRE(part);
    const auto whole = decoded(plain_decoder, plain, Crop{0, 0, 64, 48});
    REQUIRE(whole);
    check_same_pixels(*part, crop, whole->image);
  }
}

constexpr JpegRecipe kProgressive = {
    .colour_pixels_x = 2, .colour_pixels_y = 2, .progressive = true};

}  // namespace

TEST_CASE("the scale is the smallest with enough pixels for the filter") {
  CHECK(choose_scale(500, 375, 224).eighths == 8);
  CHECK(choose_scale(560, 560, 224).eighths == 4);
  CHECK(choose_scale(559, 560, 224).eighths == 8);
  CHECK(choose_scale(2000, 560, 224).eighths == 4);
  CHECK(choose_scale(1120, 1200, 224).eighths == 2);
  CHECK(choose_scale(2240, 2240, 224).eighths == 1);
  CHECK(choose_scale(100000, 100000, 224).eighths == 1);
  CHECK(choose_scale(10, 10, 224).eighths == 8);  // enlarged anyway
}

TEST_CASE("a JPEG is decoded at each scale") {
  const auto file = jpeg_bytes(81, 60, 1);
  JpegDecoder decoder;
  auto size = decoder.open(file);
  REQUIRE(size);
  CHECK(size->width == 81);
  CHECK(size->height == 60);
  const auto pixels = picture_pixels(81, 60, 1);
  auto full = decoded(decoder, file, Crop{0, 0, 81, 60});
  REQUIRE(full);
  for (size_t i = 0; i < pixels.size(); ++i) {
    CAPTURE(i);
    CHECK(int{full->image.pixels[i]} == Approx(pixels[i]).margin(6));
  }
  auto half = decoded(decoder, file, Crop{0, 0, 81, 60}, 4);
  REQUIRE(half);
  CHECK(half->image.width == 41);
  CHECK(half->image.height == 30);
  CHECK(half->crop.width == 40.5);
  CHECK(int{half->image.row(15)[3 * 20]} ==
        Approx((40 + 30 + 13) / 2).margin(6));
  auto eighth = decoded(decoder, file, Crop{0, 0, 81, 60}, 1);
  REQUIRE(eighth);
  CHECK(eighth->image.width == 11);
  CHECK(eighth->image.height == 8);
}

TEST_CASE("a partly decoded JPEG has the same pixels as a whole one") {
  const uint64_t seed = GENERATE(range(0, 60));
  const int eighths = GENERATE(8, 4, 2, 1);
  Random random(seed * 8 + static_cast<uint64_t>(eighths));
  JpegDecoder part_decoder;
  JpegDecoder whole_decoder;
  for (size_t kind = 0; kind < std::size(kRecipes); ++kind) {
    const JpegRecipe& recipe = kRecipes[kind];
    const auto file = jpeg_bytes(recipe);
    const Crop crop = crop_in(recipe.width, recipe.height, random);
    CAPTURE(seed, eighths, kind, crop.x, crop.y, crop.width, crop.height);
    auto part = decoded(part_decoder, file, crop, eighths);
    REQUIRE(part);
    auto whole = decoded(
        whole_decoder, file,
        Crop{0, 0, double(recipe.width), double(recipe.height)}, eighths);
    REQUIRE(whole);
    check_same_pixels(*part, crop.scaled(eighths / 8.0, eighths / 8.0),
                      whole->image);
  }
}

TEST_CASE("only the blocks that the crop needs are decoded") {
  const auto file = jpeg_bytes({.width = 640,
                                .height = 480,
                                .colour_pixels_x = 2,
                                .colour_pixels_y = 2});
  JpegDecoder decoder;
  auto part = decoded(decoder, file, Crop{300, 100, 50, 60});
  REQUIRE(part);
  CHECK(part->image.width <= 50 + 2 * 16 + 4);
  CHECK(part->image.height == 60);
}

TEST_CASE("invalid JPEG data is refused, and the decoder stays usable") {
  JpegDecoder decoder;
  CHECK_FALSE(decoder.open(bytes_of("")));
  CHECK_FALSE(decoder.open(bytes_of("P6 1 1 255\nabc")));
  CHECK_FALSE(decoder.open(bytes_of("\xff\xd8\xff")));
  CHECK(decoded(decoder, jpeg_bytes(16, 16, 1), Crop{0, 0, 16, 16}));
}

TEST_CASE("every truncated JPEG is refused, wherever the crop lies") {
  const bool progressive = GENERATE(false, true);
  const auto whole = jpeg_bytes(
      {.colour_pixels_x = 2, .colour_pixels_y = 2, .progressive = progressive});
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::vector<uint8_t> part(whole.begin(),
                                    whole.begin() + static_cast<long>(size));
    CAPTURE(progressive, size, whole.size());
    refused(part);  // by a crop of the first pixel
    JpegDecoder decoder;
    CHECK_FALSE(decoded(decoder, part, Crop{0, 0, 64, 48}));
  }
}

TEST_CASE("data after the end marker is ignored") {
  auto file = jpeg_bytes(64, 48, 1);
  const std::string behind = GENERATE("\n", "a trailer of a telephone's");
  file.insert(file.end(), behind.begin(), behind.end());
  file.insert(file.end(), 1000, 0);
  JpegDecoder decoder;
  CHECK(decoded(decoder, file, Crop{0, 0, 64, 8}));
  CHECK(decoded(decoder, file, Crop{0, 0, 64, 48}));
}

TEST_CASE("unknown versions and codes leave the pixels right") {
  const auto plain = jpeg_bytes(64, 48, 1);
  auto file = plain;
  file[place_in(file, "JFIF", 5)] = GENERATE(uint8_t{0}, uint8_t{2});
  check_same_picture(file, plain);
  // The baseline scan's parameters 0, 63, 0 become zeros, as some encoders
  // write them.
  file = plain;
  file[last_place(file, 0xda) + 12] = 0;
  check_same_picture(file, plain);
  const auto inks = jpeg_bytes({.colours = JpegColours::kYcck});
  file = inks;
  file[place_in(file, "Adobe", 11)] = 9;
  check_same_picture(file, inks);
}

TEST_CASE("bytes between segments leave the pixels right") {
  const bool progressive = GENERATE(false, true);
  const size_t count = GENERATE(1, 2, 300);
  const int value = GENERATE(0, 0x35, 0xff);
  const auto plain = jpeg_bytes({.progressive = progressive});
  for (int marker : {0xdb, progressive ? 0xc2 : 0xc0, 0xda}) {
    CAPTURE(progressive, count, value, marker);
    const size_t at = last_place(plain, marker);
    check_same_picture(
        with_bytes(plain, at, count, static_cast<uint8_t>(value)), plain);
  }
}

TEST_CASE("zeros and fill bytes behind a scan's data are padding") {
  const auto plain = jpeg_bytes(kProgressive);
  const size_t count = GENERATE(range(1, 20), values({100, 5000}));
  const auto value = GENERATE(uint8_t{0}, uint8_t{0xff});
  CAPTURE(count, value);
  check_same_picture(with_bytes(plain, plain.size() - 2, count, value), plain);
  const size_t scan = last_place(plain, 0xda);
  const size_t table = last_place(plain, 0xc4, scan);
  check_same_picture(with_bytes(plain, table, count, value), plain);
}

TEST_CASE("zeros before restart markers are padding") {
  const bool progressive = GENERATE(false, true);
  const size_t count = GENERATE(range(1, 20), values({100}));
  const auto plain = jpeg_bytes(
      {.progressive = progressive, .restart_blocks = progressive ? 7U : 3U});
  CAPTURE(progressive, count);
  check_same_picture(with_padded_restarts(plain, count, 0), plain);
}

TEST_CASE("data that a scan leaves over is damage") {
  const auto progressive = jpeg_bytes(kProgressive);
  refused(with_bytes(progressive, progressive.size() - 2, 40, 0x35));
  const auto restarts = jpeg_bytes({.restart_blocks = 3});
  const auto padded = with_padded_restarts(restarts, 40, 0x35);
  JpegDecoder decoder;
  CHECK_FALSE(decoded(decoder, padded, Crop{0, 0, 64, 48}));
}

TEST_CASE("zeros in the place of a scan's data are damage") {
  auto file = jpeg_bytes(kProgressive);
  const size_t lost = GENERATE(40, 80);
  std::fill(file.end() - 2 - static_cast<long>(lost), file.end() - 2, 0);
  CAPTURE(lost);
  refused(file);
}

TEST_CASE("zeros may replace the end marker, but no data") {
  const JpegRecipe recipe = {.colour_pixels_x = 2, .colour_pixels_y = 2};
  const auto plain = jpeg_bytes(recipe);
  const size_t zeros = GENERATE(1, 2, 9, 1000);
  auto file = plain;
  file.resize(file.size() - 2);
  check_same_picture(with_bytes(file, file.size(), zeros, 0), plain);
  for (size_t lost = 2; lost <= file.size(); ++lost) {
    CAPTURE(zeros, lost);
    const std::vector<uint8_t> part(file.begin(),
                                    file.end() - static_cast<long>(lost));
    const auto padded = with_bytes(part, part.size(), zeros, 0);
    refused(padded);  // by a crop of the first pixel
    JpegDecoder decoder;
    CHECK_FALSE(decoded(decoder, padded, Crop{0, 0, 64, 48}));
  }
  auto progressive = jpeg_bytes(kProgressive);
  progressive.resize(progressive.size() - 2);
  refused(with_bytes(progressive, progressive.size(), zeros, 0));
}

TEST_CASE("damage is detected up to the crop's last row, and not after it") {
  auto file = jpeg_bytes({.height = 480, .restart_blocks = 8});
  const size_t near_end = file.size() - file.size() / 8;
  for (size_t at = near_end; at < near_end + 40; ++at) file[at] = 0xff;
  JpegDecoder decoder;
  CHECK_FALSE(decoded(decoder, file, Crop{0, 0, 64, 480}));
  CHECK(decoded(decoder, file, Crop{0, 0, 64, 100}));
}

TEST_CASE("CMYK becomes RGB by multiplying each ink with black") {
  const auto colours = GENERATE(JpegColours::kCmyk, JpegColours::kYcck);
  const auto file = jpeg_bytes({.width = 81, .height = 60, .colours = colours});
  const auto inks = ink_pixels(81, 60, 1);
  JpegDecoder decoder;
  const auto part = decoded(decoder, file, Crop{0, 0, 81, 60});
  REQUIRE(part);
  for (size_t i = 0; i < size_t{81} * 60; ++i) {
    for (size_t channel = 0; channel < 3; ++channel) {
      CAPTURE(i, channel);
      const double left = inks[4 * i + channel] * inks[4 * i + 3] / 255.0;
      REQUIRE(int{part->image.pixels[3 * i + channel]} ==
              Approx(left).margin(9));
    }
  }
}

TEST_CASE("inks are multiplied exactly, and rounded") {
  // Constant planes, which JPEG preserves exactly.
  const std::vector<uint8_t> inks = {0, 200, 255, 130};
  std::vector<uint8_t> pixels;
  for (int i = 0; i < 64; ++i) {
    pixels.insert(pixels.end(), inks.begin(), inks.end());
  }
  const auto file =
      jpeg_of({.width = 8, .height = 8, .colours = JpegColours::kCmyk}, pixels);
  JpegDecoder decoder;
  const auto part = decoded(decoder, file, Crop{2, 3, 4, 5});
  REQUIRE(part);
  // 0, 26000 / 255 = 101.96, 130
  CHECK(std::vector<uint8_t>(part->image.pixels, part->image.pixels + 3) ==
        std::vector<uint8_t>{0, 102, 130});
}

TEST_CASE("a picture beyond the memory bound is refused with this cause") {
  penstock::PixelBuffer pixels(20000);
  JpegDecoder decoder(pixels, 20000);
  const auto is_refused = [&](const JpegRecipe& recipe, const char* why) {
    const auto part = decoded(decoder, jpeg_bytes(recipe), Crop{0, 0, 99, 99});
    REQUIRE_FALSE(part);
    CHECK(part.error().code == penstock::Code::kLimit);
    CHECK_THAT(part.error().message, ContainsSubstring(why));
  };
  is_refused({.width = 99, .height = 99},
             "JPEG: takes 29403 bytes when decoded; the memory bound leaves");
  is_refused({.width = 99, .height = 99, .progressive = true},
             "JPEG: a progressive picture for which libjpeg takes over 20000");
  CHECK(decoded(decoder, jpeg_bytes(80, 80, 1), Crop{0, 0, 80, 80}));
}

TEST_CASE("pictures beyond the size limits are refused before decoding") {
  JpegDecoder decoder;
  const auto plain = jpeg_bytes(64, 48, 1);
  CHECK(refused(with_size(plain, 65500, 5000)).message.find("256 Mpixel") !=
        std::string::npos);
  CHECK(refused(with_size(plain, 65501, 1)).message.find("65500") !=
        std::string::npos);
  refused(with_size(plain, 0, 48));
  // Inside the size limits, but libjpeg would allocate 1.5 GiB.
  const auto large = decoded(
      decoder, with_size(jpeg_bytes({.progressive = true}), 16000, 16000),
      Crop{0, 0, 1, 1});
  REQUIRE_FALSE(large);
  CHECK(large.error().code == penstock::Code::kLimit);
  CHECK_THAT(large.error().message, ContainsSubstring("over 1073741824 bytes"));
}

TEST_CASE("a progressive picture of hundreds of scans is refused") {
  const auto error =
      refused(jpeg_bytes({.progressive = true, .scan_per_coefficient = true}));
  CHECK(error.message.find("over 100 scans") != std::string::npos);
}

TEST_CASE("no file is decoded with another file's tables") {
  const auto whole = jpeg_bytes(64, 48, 1);
  auto bare = whole;
  // The first table of quantisation becomes a comment.
  for (size_t at = 0; at + 1 < bare.size(); ++at) {
    if (bare[at] == 0xff && bare[at + 1] == 0xdb) {
      bare[at + 1] = 0xfe;
      break;
    }
  }
  JpegDecoder decoder;
  CHECK(decoded(decoder, whole, Crop{0, 0, 64, 48}));
  CHECK_FALSE(decoded(decoder, bare, Crop{0, 0, 64, 48}));
}
