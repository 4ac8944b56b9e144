#include "loader/lmdb/mpi/direct_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "loader/lmdb/mpi/node_ring.h"

namespace penstock::lmdb {
namespace {

bool can_read(int fd) {
  constexpr size_t kBlock = RingShape::kDataAlignment;
  alignas(kBlock) char block[kBlock];
  ssize_t got;
  do {
    got = ::pread(fd, block, kBlock, 0);
  } while (got < 0 && errno == EINTR);
  return got >= 0;
}

}  // namespace

Result<UniqueFd> open_direct(int fd) {
  const std::string same = "/proc/self/fd/" + std::to_string(fd);
  UniqueFd direct(::open(same.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT));
  if (direct && can_read(direct.get())) return direct;
  return invalid(std::string("the file system refuses O_DIRECT (") +
                 std::strerror(errno) + "); use direct=auto");
}

}  // namespace penstock::lmdb
