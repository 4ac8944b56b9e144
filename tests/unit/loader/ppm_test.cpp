#include "loader/picture/ppm.h"

#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"

using Catch::Matchers::ContainsSubstring;
using penstock::parse_ppm;
using penstock::test::bytes_of;
using penstock::test::ppm_bytes;

TEST_CASE("a PPM's pixels are used in place") {
  const auto file = ppm_bytes(5, 3, 1);
  auto image = parse_ppm(file);
  REQUIRE(image);
  CHECK(image->width == 5);
  CHECK(image->height == 3);
  CHECK(image->pixels == file.data() + file.size() - 5 * 3 * 3);
  CHECK(image->row(2) == image->pixels + 2 * 15);
}

TEST_CASE("the header may have comments and any white space") {
  auto file = bytes_of("P6 # made by hand\n# twice\n2\t# width\n1\r\n255 ");
  const size_t header = file.size();
  file.insert(file.end(), 6, 9);
  auto image = parse_ppm(file);
  REQUIRE(image);
  CHECK(image->pixels == file.data() + header);
}

TEST_CASE("pixel bytes with the value of white space belong to the picture") {
  auto file = bytes_of("P6 1 1 255\n");
  file.insert(file.end(), {'\n', ' ', '#'});
  auto image = parse_ppm(file);
  REQUIRE(image);
  CHECK(image->pixels[0] == '\n');
}

TEST_CASE("data after the pixels are ignored") {
  auto file = ppm_bytes(2, 2, 1);
  file.push_back('x');
  CHECK(parse_ppm(file));
}

TEST_CASE("an invalid header is refused with its cause") {
  const auto [text, why] = GENERATE(table<std::string, std::string>({
      {"", "does not begin with P6"},
      {"P6", "does not begin with P6"},
      {"P5 1 1 255\nabc", "does not begin with P6"},
      {"P6 ", "width"},
      {"P6 x 1 255\nabc", "width"},
      {"P6 0 1 255\nabc", "width"},
      {"P6 -1 1 255\nabc", "width"},
      {"P6 65501 1 255\nabc", "width"},
      {"P6 99999999999999999999 1 255\nabc", "width"},
      {"P6 1 0 255\nabc", "height"},
      {"P6 1 # no end", "height"},
      {"P6 1 1 0\nabc", "maximum"},
      {"P6 1 1 254\nabc", "allowed: 255"},
      {"P6 1 1 65535\nabcdef", "allowed: 255"},
      {"P6 1 1 65536\nabc", "maximum"},
      {"P6 1 1 255", "white space"},
      {"P6 1 1 255xabc", "white space"},
      {"P6 1 1 255\nab", "cut short: 2 bytes of pixels, 3 expected"},
      {"P6 65500 65500 255\nabc", "256 Mpixel"},
  }));
  CAPTURE(text);
  const auto file = bytes_of(text);
  auto image = parse_ppm(file);
  REQUIRE_FALSE(image);
  CHECK(image.error().code == penstock::Code::kInvalidArgument);
  CHECK_THAT(image.error().message, ContainsSubstring(why));
}

TEST_CASE("every truncated PPM is refused") {
  const auto whole = ppm_bytes(4, 4, 2);
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::vector<uint8_t> part(whole.begin(),
                                    whole.begin() + static_cast<long>(size));
    CAPTURE(size);
    CHECK_FALSE(parse_ppm(part));
  }
}
