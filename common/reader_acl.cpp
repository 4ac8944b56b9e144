#include "common/reader_acl.h"

#include <endian.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/xattr.h>

#include <cerrno>
#include <string>

namespace penstock {

Status let_read(int fd, uid_t reader) {
  const auto entry = [](uint16_t tag, uint16_t permissions, uint32_t id) {
    return posix_acl_xattr_entry{htole16(tag), htole16(permissions),
                                 htole32(id)};
  };
  constexpr auto kNoId = static_cast<uint32_t>(ACL_UNDEFINED_ID);
  const struct {
    posix_acl_xattr_header header;
    posix_acl_xattr_entry entries[5];  // in the order of their tags
  } list{{htole32(POSIX_ACL_XATTR_VERSION)},
         {entry(ACL_USER_OBJ, ACL_READ, kNoId),
          entry(ACL_USER, ACL_READ, reader), entry(ACL_GROUP_OBJ, 0, kNoId),
          entry(ACL_MASK, ACL_READ, kNoId), entry(ACL_OTHER, 0, kNoId)}};
  if (::fsetxattr(fd, "system.posix_acl_access", &list, sizeof list, 0) == 0) {
    return Done{};
  }
  const std::string what =
      "cannot let user " + std::to_string(reader) + " read it";
  Error error = system_error(errno, what);
  if (error.saved_errno == EOPNOTSUPP) error.code = Code::kUnavailable;
  return error;
}

}  // namespace penstock
