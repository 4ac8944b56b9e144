#include "report/svg.h"

#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE("text of an SVG is escaped") {
  CHECK(svg_text(1.25, 2, "end", "a<b") ==
        "<text x=\"1.2\" y=\"2.0\" text-anchor=\"end\">a&lt;b</text>\n");
}

}  // namespace
}  // namespace penstock
