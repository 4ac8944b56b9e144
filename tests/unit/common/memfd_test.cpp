#include "common/memfd.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

// Linux 6.3 and later.
bool can_forbid_execution() {
  utsname system{};
  int major = 0;
  int minor = 0;
  return ::uname(&system) == 0 &&
         std::sscanf(system.release, "%d.%d", &major, &minor) == 2 &&
         std::pair(major, minor) >= std::pair(6, 3);
}

}  // namespace

TEST_CASE("a memory file can be written and sealed, and is never executable") {
  Result<UniqueFd> fd = create_memfd("penstock-test");
  REQUIRE(fd);
  CHECK(::write(fd->get(), "x", 1) == 1);
  CHECK(::fcntl(fd->get(), F_ADD_SEALS, F_SEAL_WRITE) == 0);
  CHECK(::write(fd->get(), "x", 1) == -1);
  if (!can_forbid_execution()) {
    WARN("skipped: this kernel cannot forbid the execution of memory files");
    return;
  }
  struct stat found {};
  REQUIRE(::fstat(fd->get(), &found) == 0);
  CHECK((found.st_mode & 0111) == 0);
  CHECK(::fchmod(fd->get(), 0777) == -1);
}
