// Name of this machine. Thread-safe.
#pragma once

#include <limits.h>
#include <unistd.h>

#include <array>
#include <string>

namespace penstock {

// Result of gethostname(), including any domain; "localhost" on error.
inline std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

}  // namespace penstock
