// The style sheet of the HTML report, html_style.css: light, dark, narrow and
// printed. Every colour is a variable; text has a contrast of 4.5 or more to
// what is behind it. The hatches of .fetch, .prep, .exchange and .away are
// there so that no colour is the only sign of a part. No '<' and no '&'.
// Internal to report/.
#pragma once

#include <string_view>

namespace penstock {

extern const std::string_view kHtmlStyle;

}  // namespace penstock
