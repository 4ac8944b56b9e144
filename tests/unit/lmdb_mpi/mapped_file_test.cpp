#include "loader/lmdb/mpi/mapped_file.h"

#include <fcntl.h>
#include <sys/stat.h>
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

TEST_CASE("a written file is cached, and a dropped one is not") {
  const TempFolder folder;
  const UniqueFd fd = make_file(folder.path("file"));
  const auto map = MappedFile::map(fd.get(), kBytes);
  REQUIRE(map);
  const std::vector<RecordSpan> spans{{100, 9000}, {500000, 100}};
  CHECK(map->is_cached(spans, true));
  CHECK(map->is_cached(spans, false));
  CHECK(map->data()[500000] == 7);
  REQUIRE(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED) == 0);
  // Pages that are mapped and used stay cached; others are dropped, except on
  // tmpfs.
  const bool is_dropped = !map->is_cached(spans, true);
  CHECK(map->is_cached(spans, false) == !is_dropped);
}

TEST_CASE("stretches that were waited for are cached, in any order") {
  const TempFolder folder;
  const UniqueFd fd = make_file(folder.path("file"));
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  const auto map = MappedFile::map(fd.get(), kBytes);
  REQUIRE(map);
  std::vector<Stretch> stretches{{500000, 100}, {100, 9000}, {9200, 0}};
  const Result<bool> is_there = map->wait_for(stretches);
  REQUIRE(is_there);
  if (*is_there) {
    const std::vector<RecordSpan> spans{{100, 9000}, {500000, 100}};
    CHECK(map->is_cached(spans, false));
  }
}

TEST_CASE("waiting for bytes beyond the file's end is an error") {
  const TempFolder folder;
  const UniqueFd fd = make_file(folder.path("file"));
  const auto map = MappedFile::map(fd.get(), kBytes);
  REQUIRE(map);
  REQUIRE(::truncate(folder.path("file").c_str(), kBytes / 2) == 0);
  std::vector<Stretch> stretches{{100, 9000}, {kBytes - 100, 100}};
  const Result<bool> is_there = map->wait_for(stretches);
  if (is_there) {
    WARN("SKIPPED: this kernel cannot be asked to wait");
    CHECK_FALSE(*is_there);
    return;
  }
  CHECK(is_there.error().code == Code::kIo);
  CHECK(is_there.error().message ==
        "cannot read at byte 1048476: "
        "Input/output error");
}

TEST_CASE("a shortened file is no longer whole") {
  const TempFolder folder;
  const UniqueFd fd = make_file(folder.path("file"));
  const auto map = MappedFile::map(fd.get(), kBytes);
  REQUIRE(map);
  CHECK(map->is_whole());
  REQUIRE(::truncate(folder.path("file").c_str(), kBytes - 1) == 0);
  CHECK(!map->is_whole());
}
