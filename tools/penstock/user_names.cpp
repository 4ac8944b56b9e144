#include "tools/penstock/user_names.h"

#include <pwd.h>

#include <array>

#include "common/account.h"
#include "common/units.h"

namespace penstock {

std::string known_name_of_user(uint32_t uid) {
  std::array<char, 4096> buffer;
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  return found ? found->pw_name : "";
}

std::string name_of_user(uint32_t uid) {
  const std::string name = known_name_of_user(uid);
  return name.empty() ? std::to_string(uid) : name;
}

Result<uint32_t> uid_of_user(const std::string& user) {
  if (const auto uid = find_uid(user)) return *uid;
  return invalid("--user " + printable(user) + ": there is no such user");
}

}  // namespace penstock
