#include "loader/lmdb/mpi/mapped_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/unique_fd.h"
#include "tests/unit/catch.h"
#include "tests/unit/lmdb/lmdb_files.h"

using namespace penstock;
using namespace penstock::lmdb;
using namespace penstock::test;

namespace {

constexpr uint64_t kBytes = 1 << 20;

UniqueFd make_file(const std::string& path) {
  write_file(path, std::vector<uint8_t>(kBytes, 7));
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ::fsync(fd.get());
  return fd;
}

}  // namespace

TEST_CASE("a file that was just written is cached; dropped, it is not") {
  const TempFolder folder;
  const UniqueFd fd = make_file(folder.path("file"));
  const auto map = MappedFile::map(fd.get(), kBytes);
  REQUIRE(map);
  const std::vector<RecordSpan> spans{{100, 9000}, {500000, 100}};
  CHECK(map->is_cached(spans, true));
  CHECK(map->is_cached(spans, false));
  CHECK(map->data()[500000] == 7);
  REQUIRE(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED) == 0);
  // Pages that are mapped and used stay; others go, except on tmpfs.
  const bool is_dropped = !map->is_cached(spans, true);
  CHECK(map->is_cached(spans, false) == !is_dropped);
  CHECK(map->is_ready({500000, 100}) == !is_dropped);
}

TEST_CASE("what is ready is told to who may write to the file") {
  const TempFolder folder;
  const UniqueFd fd = make_file(folder.path("file"));
  const auto map = MappedFile::map(fd.get(), kBytes);
  REQUIRE(map);
  CHECK(map->is_ready({0, kBytes}));
  CHECK(map->is_ready({5000, 1}));
}

// mincore() tells others that all is there, whatever is.
TEST_CASE("nothing is told to who may only read the file") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: needs root, to become another user");
    return;
  }
  const TempFolder folder;
  const UniqueFd fd = make_file(folder.path("file"));
  REQUIRE(::fchmod(fd.get(), 0644) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(2);
    const auto map = MappedFile::map(fd.get(), kBytes);
    ::_exit(map && !map->is_ready({0, kBytes}) ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a file that becomes shorter is no longer whole") {
  const TempFolder folder;
  const UniqueFd fd = make_file(folder.path("file"));
  const auto map = MappedFile::map(fd.get(), kBytes);
  REQUIRE(map);
  CHECK(map->is_whole());
  REQUIRE(::truncate(folder.path("file").c_str(), kBytes - 1) == 0);
  CHECK(!map->is_whole());
}
