// Builds HTML with SVG in it that an XML parser takes too: every element is
// closed, every text escaped. Pure.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// Fit for an element's content and for an attribute in double quotes. The
// text may be any bytes: what is not UTF-8, control characters, what XML does
// not allow, and what turns the direction of writing become U+FFFD each, a
// newline or tab a space.
std::string escaped(std::string_view text);

struct Attribute {
  std::string_view name;
  std::string value;  // escaped by Markup
};
using Attributes = std::initializer_list<Attribute>;

class Markup {
 public:
  // REQUIRES of all: tag and attribute names are constants of ours.
  void open(std::string_view tag, Attributes attributes = {});
  // Closes what was opened last. REQUIRES: something is open.
  void close();
  // An element without content, closed in its tag: void elements of HTML
  // (meta, br) and any of SVG.
  void leaf(std::string_view tag, Attributes attributes = {});
  // An element that holds a text.
  void element(std::string_view tag, Attributes attributes,
               std::string_view text);
  void element(std::string_view tag, std::string_view text) {
    element(tag, {}, text);
  }
  void text(std::string_view text) { out_ += escaped(text); }
  // A style sheet of ours, which is written as it is.
  // REQUIRES: no '<' and no '&'.
  void style(std::string_view sheet);

  // REQUIRES: all is closed.
  std::string take() && { return std::move(out_); }

 private:
  void start(std::string_view tag, Attributes attributes);

  std::string out_;
  std::vector<std::string_view> open_;
};

}  // namespace penstock
