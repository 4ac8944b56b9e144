// Texts from users on a terminal, or on a line of a file. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock {

// The text in UTF-8, or in ASCII: each character that cannot be shown becomes
// '?', as does each byte that is part of no character. Control characters are
// not shown, nor those that are invisible or change the order of others.
std::string shown_text(std::string_view text, bool is_utf8 = true);

// How many of the text's bytes fit into so many columns of a terminal. Letters
// of East Asia and pictures take two, everything else one.
size_t bytes_in_columns(std::string_view text, size_t columns);
size_t columns_of(std::string_view text);

// shown_text() cut to so many columns.
std::string shown_in_columns(std::string_view text, size_t columns);

}  // namespace penstock
