#include "report/markup.h"

#include <cstdint>
#include <random>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

constexpr const char* kReplaced = "\xEF\xBF\xBD";

std::string times(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += kReplaced;
  return out;
}

TEST_CASE("special characters of HTML and XML are escaped") {
  CHECK(escaped("a<b>&\"'c") == "a&lt;b&gt;&amp;&quot;&#39;c");
  CHECK(escaped("one\ntwo\tthree") == "one two three");
  CHECK(escaped("").empty());
}

TEST_CASE("text in UTF-8 is unchanged") {
  for (const char* text : {"é", "日本", "\U0001F600", "\uFFFD", "\u00A0"}) {
    CHECK(escaped(text) == text);
  }
}

TEST_CASE("invalid UTF-8 is replaced byte by byte") {
  CHECK(escaped("\xff") == times(1));
  CHECK(escaped("a\xc3") == "a" + times(1));         // cut off
  CHECK(escaped("\xc0\xaf") == times(2));            // an overlong form
  CHECK(escaped("\xe0\x80\xaf") == times(3));        // an overlong form
  CHECK(escaped("\xed\xa0\x80") == times(3));        // a surrogate
  CHECK(escaped("\xf4\x90\x80\x80") == times(4));    // over U+10FFFF
  CHECK(escaped("\x80z") == times(1) + "z");         // no lead byte
  CHECK(escaped("\xe2\x82<") == times(2) + "&lt;");  // '<' is not eaten
  CHECK(escaped("\xf0\x9f\x98\"") == times(3) + "&quot;");
}

TEST_CASE(
    "control characters, invisible ones and non-characters are replaced") {
  CHECK(escaped("\x1b[2J") == times(1) + "[2J");
  CHECK(escaped(std::string_view("\0", 1)) == times(1));
  CHECK(escaped("\r\x7f") == times(2));
  for (const char* text :
       {"\u0085", "\u061C", "\u200B", "\u200F", "\u2028", "\u202E", "\u2066",
        "\uFEFF", "\uFFFE", "\uFDD0", "\U0001FFFF"}) {
    CHECK(escaped(text) == times(1));
  }
}

TEST_CASE("no bytes become markup") {
  const uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  // Bytes near the special ones, so that all cases occur.
  const std::string some = "<>&\"'/az \x80\xbf\xc2\xe2\x82\xac\xed\xa0\xf0\xff";
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 40, 0);
    for (char& c : text) c = some[random() % some.size()];
    const std::string out = escaped(text);
    CHECK(out.find_first_of("<>\"'") == out.npos);
    CHECK(out.size() <= text.size() * 6);
  }
}

TEST_CASE("elements are closed in order, and texts are escaped") {
  Markup page;
  page.open("p", {{"title", "a\"b"}});
  page.text("1 < 2");
  page.leaf("br");
  page.element("b", "x & y");
  page.close();
  const std::string text = std::move(page).take();
  CHECK(text == "<p title=\"a&quot;b\">1 &lt; 2<br/>\n<b>x &amp; y</b></p>\n");
}

}  // namespace
}  // namespace penstock
