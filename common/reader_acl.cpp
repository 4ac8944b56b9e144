#include "common/reader_acl.h"

#include <endian.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/xattr.h>

#include <cerrno>
#include <cstdint>
#include <string>

namespace penstock {

namespace {

struct AccessList {
  posix_acl_xattr_header header;
  posix_acl_xattr_entry entries[5];  // in the order of their tags
};

constexpr const char* kAttribute = "system.posix_acl_access";

AccessList list_of(uint16_t of_owner, uid_t user, uint16_t of_user) {
  const auto entry = [](uint16_t tag, uint16_t permissions, uint32_t id) {
    return posix_acl_xattr_entry{htole16(tag), htole16(permissions),
                                 htole32(id)};
  };
  constexpr auto kNoId = static_cast<uint32_t>(ACL_UNDEFINED_ID);
  return {{htole32(POSIX_ACL_XATTR_VERSION)},
          {entry(ACL_USER_OBJ, of_owner, kNoId), entry(ACL_USER, of_user, user),
           entry(ACL_GROUP_OBJ, 0, kNoId), entry(ACL_MASK, of_user, kNoId),
           entry(ACL_OTHER, 0, kNoId)}};
}

Error failure(int error_number, uid_t user, const char* use) {
  Error error =
      system_error(error_number, "cannot let user " + std::to_string(user) +
                                     " " + use + " it");
  if (error.saved_errno == EOPNOTSUPP) error.code = Code::kUnavailable;
  return error;
}

}  // namespace

Status let_read(int fd, uid_t reader) {
  const AccessList list = list_of(ACL_READ, reader, ACL_READ);
  if (::fsetxattr(fd, kAttribute, &list, sizeof list, 0) == 0) return Done{};
  return failure(errno, reader, "read");
}

Status let_list(int directory_fd, uid_t reader) {
  const AccessList list = list_of(ACL_READ | ACL_WRITE | ACL_EXECUTE, reader,
                                  ACL_READ | ACL_EXECUTE);
  if (::fsetxattr(directory_fd, kAttribute, &list, sizeof list, 0) == 0) {
    return Done{};
  }
  return failure(errno, reader, "list");
}

Status let_send(int socket_file_fd, uid_t sender) {
  const AccessList list = list_of(ACL_READ | ACL_WRITE, sender, ACL_WRITE);
  // fsetxattr() refuses O_PATH.
  const std::string path = "/proc/self/fd/" + std::to_string(socket_file_fd);
  if (::setxattr(path.c_str(), kAttribute, &list, sizeof list, 0) == 0) {
    return Done{};
  }
  return failure(errno, sender, "send to");
}

}  // namespace penstock
