// Builds HTML with inline SVG that is also well-formed XML: every element is
// closed, every text escaped. Pure.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// Escapes text for an element's content or a double-quoted attribute. The text
// may be any bytes. Invalid UTF-8, control characters, characters that XML
// forbids, and changes of the writing direction become U+FFFD each; a newline
// or tab becomes a space.
std::string escaped(std::string_view text);

struct Attribute {
  std::string_view name;
  std::string value;  // escaped by Markup
};
using Attributes = std::initializer_list<Attribute>;

class Markup {
 public:
  // REQUIRES of all: tag and attribute names are constants of the program.
  void open(std::string_view tag, Attributes attributes = {});
  // Closes the innermost open element. REQUIRES: an element is open.
  void close();
  // An element without content, self-closed: void elements of HTML (meta, br)
  // and any element of SVG.
  void leaf(std::string_view tag, Attributes attributes = {});
  // An element with a text.
  void element(std::string_view tag, Attributes attributes,
               std::string_view text);
  void element(std::string_view tag, std::string_view text) {
    element(tag, {}, text);
  }
  void text(std::string_view text) { out_ += escaped(text); }
  // A constant style sheet, written without escaping.
  // REQUIRES: no '<' and no '&'.
  void style(std::string_view sheet);

  // REQUIRES: every element is closed.
  std::string take() && { return std::move(out_); }

 private:
  void start(std::string_view tag, Attributes attributes);

  std::string out_;
  std::vector<std::string_view> open_;
};

}  // namespace penstock
