#include "report/svg.h"

#include <fmt/format.h>

#include "report/markup.h"

namespace penstock {

std::string svg_text(double x, double y, const char* anchor,
                     std::string_view words) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y,
      anchor, escaped(words));
}

}  // namespace penstock
