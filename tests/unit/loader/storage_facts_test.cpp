#include "loader/storage_facts.h"

#include <sys/vfs.h>

#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"

using namespace penstock;
using penstock::test::TempFolder;
using penstock::test::write_file;

TEST_CASE("what files hold, from some of them") {
  const TempFolder folder;
  std::vector<std::string> paths;
  for (int i = 0; i < 1000; ++i) {
    paths.push_back(folder.path() + "/" + std::to_string(i));
    write_file(paths.back(), std::vector<uint8_t>(1000));
  }
  CHECK(bytes_of_files(paths) == Approx(1e6));
  CHECK(bytes_of_files({}) == 0);
  CHECK(bytes_of_files({folder.path() + "/none"}) == 0);
  // Those that are gone are taken to be like the others.
  paths.push_back(folder.path() + "/none");
  CHECK(bytes_of_files(paths) == Approx(1.001e6).epsilon(1e-3));
}

TEST_CASE("files in memory are read at a rate") {
  const TempFolder folder;
  const std::string file = folder.path() + "/file";
  write_file(file, std::vector<uint8_t>(1 << 20));
  // No disk of today's gives a page that was just written anew.
  CHECK(read_bytes_per_s({file, file, file}) > 1e7);
  CHECK(read_bytes_per_s({}) == 0);
  CHECK(read_bytes_per_s({folder.path() + "/none"}) == 0);
}

TEST_CASE("file systems by name") {
  CHECK(filesystem_of("/nonexistent").empty());
  CHECK(keeps_files_in_memory("tmpfs"));
  CHECK_FALSE(keeps_files_in_memory("ext4"));
  struct statfs facts {};
  if (::statfs("/dev/shm", &facts) == 0 && facts.f_type == 0x01021994) {
    CHECK(filesystem_of("/dev/shm") == "tmpfs");
  }
}

TEST_CASE("there is room for a cache, and no more than the machine has") {
  const double room = cache_room_bytes();
  CHECK(room > 0);
  CHECK(room < 1e15);
  CHECK(storage_bytes_read() >= 0);
}
