#include "loader/lmdb/mpi/direct_file.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "tests/unit/catch.h"
#include "tests/unit/lmdb/lmdb_files.h"
#include "tests/unit/lmdb/refused_call.h"

using namespace penstock;
using namespace penstock::lmdb;
using namespace penstock::test;

TEST_CASE("open_direct() opens the open file, not one that took its name") {
  const TempFolder folder;
  const std::string path = folder.path("file");
  write_file(path, std::vector<uint8_t>(8192, 1));
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  write_file(folder.path("other"), std::vector<uint8_t>(8192, 2));
  REQUIRE(::rename(folder.path("other").c_str(), path.c_str()) == 0);
  const Result<UniqueFd> direct = open_direct(fd.get());
  if (!direct) return;  // not with this file system
  CHECK((::fcntl(direct->get(), F_GETFL) & O_DIRECT) != 0);
  alignas(4096) uint8_t block[4096];
  REQUIRE(::pread(direct->get(), block, sizeof block, 4096) == sizeof block);
  CHECK(block[0] == 1);
}

TEST_CASE("a file that accepts O_DIRECT but fails to read is refused") {
  const TempFolder folder;
  write_file(folder.path("file"), std::vector<uint8_t>(4096, 1));
  const UniqueFd fd(::open(folder.path("file").c_str(), O_RDONLY | O_CLOEXEC));
  CHECK(holds_when_refused(SYS_pread64, EIO, [&] {
    const Result<UniqueFd> direct = open_direct(fd.get());
    return !direct && direct.error().code == Code::kInvalidArgument &&
           direct.error().message.find("refuses O_DIRECT (") !=
               std::string::npos;
  }));
}
