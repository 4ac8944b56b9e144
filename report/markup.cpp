#include "report/markup.h"

#include <cstdint>

namespace penstock {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The first character of the text; 0 bytes if the text does not start with
// valid, shortest-form UTF-8.
struct Character {
  uint32_t code = 0;
  size_t bytes = 0;
};

Character first_of(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  uint32_t code = lead & (0xFF >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0) != 0x80) return {};
    code = code << 6 | (next & 0x3F);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kLeast[bytes] || code > 0x10FFFF || surrogate) return {};
  return {code, bytes};
}

bool is_harmless(uint32_t code) {
  if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return false;
  if ((code & 0xFFFE) == 0xFFFE || (code >= 0xFDD0 && code <= 0xFDEF)) {
    return false;  // noncharacters
  }
  if (code == 0x061C || code == 0xFEFF) return false;
  // Direction marks and overrides, line and paragraph separators: with them the
  // displayed text would differ from its characters.
  if (code >= 0x200B && code <= 0x200F) return false;
  if (code >= 0x2028 && code <= 0x202E) return false;
  return code < 0x2060 || code > 0x206F;
}

void append(std::string& out, std::string_view bytes, uint32_t code) {
  switch (code) {
    case '<':
      out += "&lt;";
      return;
    case '>':
      out += "&gt;";
      return;
    case '&':
      out += "&amp;";
      return;
    case '"':
      out += "&quot;";
      return;
    case '\'':
      out += "&#39;";
      return;
    case '\n':
    case '\t':
      out += ' ';
      return;
    default:
      out += is_harmless(code) ? bytes : kReplacement;
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character first = first_of(text);
    if (first.bytes == 0) {
      out += kReplacement;
      text.remove_prefix(1);
      continue;
    }
    append(out, text.substr(0, first.bytes), first.code);
    text.remove_prefix(first.bytes);
  }
  return out;
}

void Markup::start(std::string_view tag, Attributes attributes) {
  out_ += '<';
  out_ += tag;
  for (const Attribute& attribute : attributes) {
    out_ += ' ';
    out_ += attribute.name;
    out_ += "=\"";
    out_ += escaped(attribute.value);
    out_ += '"';
  }
}

void Markup::open(std::string_view tag, Attributes attributes) {
  start(tag, attributes);
  out_ += '>';
  open_.push_back(tag);
}

void Markup::close() {
  const std::string_view tag = open_.back();
  open_.pop_back();
  out_ += "</";
  out_ += tag;
  out_ += '>';
  // Inside a paragraph or an SVG text a newline would be visible.
  if (tag != "b" && tag != "span" && tag != "bdi" && tag != "code") {
    out_ += '\n';
  }
}

void Markup::leaf(std::string_view tag, Attributes attributes) {
  start(tag, attributes);
  out_ += "/>\n";
}

void Markup::element(std::string_view tag, Attributes attributes,
                     std::string_view text) {
  open(tag, attributes);
  out_ += escaped(text);
  close();
}

void Markup::style(std::string_view sheet) {
  open("style");
  out_ += sheet;
  close();
}

}  // namespace penstock
