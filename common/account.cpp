#include "common/account.h"

#include <pwd.h>

#include <array>
#include <cstdint>

#include "common/units.h"

namespace penstock {

std::optional<uid_t> find_uid(const std::string& account) {
  if (const auto number = parse_uint(account, 0, UINT32_MAX - 1)) {
    return uid_t(*number);
  }
  std::array<char, 16384> buffer;
  passwd entry{};
  passwd* found = nullptr;
  ::getpwnam_r(account.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) return std::nullopt;
  return found->pw_uid;
}

}  // namespace penstock
