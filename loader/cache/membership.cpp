#include "loader/cache/membership.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>

#include "loader/cache/cache_layout.h"

namespace penstock {
namespace {

struct flock lock_of(uint32_t first, uint32_t count) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kCacheLocksOffset + off_t{first};
  lock.l_len = off_t{count};
  return lock;
}

// Whether another open file description holds one of these locks; nullopt: the
// kernel reports an error.
std::optional<bool> is_locked(int fd, uint32_t first, uint32_t count) {
  struct flock lock = lock_of(first, count);
  if (::fcntl(fd, F_OFD_GETLK, &lock) != 0) return std::nullopt;
  return lock.l_type != F_UNLCK;
}

Result<UniqueFd> open_again(int fd) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  UniqueFd own(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!own) return system_error(errno, "cannot open the cache again");
  return own;
}

}  // namespace

Result<Membership> Membership::join(int fd, MemberTable& table) {
  auto opened = open_again(fd);
  if (!opened) return std::move(opened).error();
  UniqueFd own = *std::move(opened);
  for (uint32_t number = 0; number < kMembers; ++number) {
    struct flock lock = lock_of(number, 1);
    if (::fcntl(own.get(), F_OFD_SETLK, &lock) == 0) {
      const uint32_t generation = ++table.generations[number];
      return Membership(std::move(own), number,
                        generation % SlotWord::kGenerations, ::getpid());
    }
    if (errno != EAGAIN && errno != EACCES) {
      return system_error(errno, "cannot lock the cache");
    }
  }
  return Error{Code::kLimit, 0,
               std::to_string(kMembers) + " processes use the cache already"};
}

bool Membership::shut() { return shut_out_cache_members(fd_.get()); }

bool is_member(int fd, uint32_t number) {
  return is_locked(fd, number, 1).value_or(true);
}

bool has_members(int fd) { return is_locked(fd, 0, kMembers).value_or(true); }

uint32_t count_members(int fd) {
  if (!has_members(fd)) return 0;
  uint32_t count = 0;
  for (uint32_t number = 0; number < kMembers; ++number) {
    count += is_member(fd, number) ? 1 : 0;
  }
  return count;
}

Result<UniqueFd> lock_serving(int fd) {
  auto own = open_again(fd);
  if (!own) return own;
  struct flock lock = lock_of(kMembers, 1);  // the byte behind the members'
  if (::fcntl(own->get(), F_OFD_SETLK, &lock) == 0) return own;
  if (errno != EAGAIN && errno != EACCES) {
    return system_error(errno, "cannot lock the cache");
  }
  return Error{Code::kUnavailable, 0, "another process serves the cache"};
}

}  // namespace penstock
