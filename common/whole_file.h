// Reads and writes a file as a whole, by its descriptor. Uses the C++ standard
// library only: a plugin compiles whole_file.cpp too.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock {

// Both return 0, or the errno of the call that failed, and go on after EINTR.

// Reads from the file's beginning to its end, without moving the offset. The
// file's size does not matter: it is 0 for files in /proc and /sys.
// EFBIG: more than max_bytes.
[[nodiscard]] int read_whole(int fd, size_t max_bytes, std::string& text);
[[nodiscard]] int write_whole(int fd, std::string_view text);

}  // namespace penstock
