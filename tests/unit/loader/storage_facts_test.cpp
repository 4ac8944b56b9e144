#include "loader/data/storage_facts.h"

#include <sys/vfs.h>

#include <filesystem>

#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"

using namespace penstock;
using penstock::test::TempFolder;
using penstock::test::write_file;

TEST_CASE("the bytes of a dataset are estimated from some samples") {
  const TempFolder folder;
  std::vector<std::string> paths;
  for (int i = 0; i < 1000; ++i) {
    paths.push_back(folder.path(std::to_string(i) + ".jpg"));
    write_file(paths.back(), std::vector<uint8_t>(1000));
  }
  const auto dataset = open_folder(folder.path());
  REQUIRE(dataset);
  CHECK(bytes_of_samples(**dataset) == Approx(1e6));
  // Removed files count with the average of the others.
  std::filesystem::remove(paths[0]);
  CHECK(bytes_of_samples(**dataset) == Approx(1e6));
  for (const std::string& path : paths) std::filesystem::remove(path);
  CHECK(bytes_of_samples(**dataset) == 0);
}

TEST_CASE("the read rate of samples in memory is measured") {
  const TempFolder folder;
  const std::string file = folder.path("file.jpg");
  write_file(file, std::vector<uint8_t>(1 << 20));
  const auto dataset = open_folder(folder.path());
  REQUIRE(dataset);
  // A page just written is read from memory, faster than from any disk.
  CHECK(read_bytes_per_s(**dataset, {0, 0, 0}) > 1e7);
  CHECK(read_bytes_per_s(**dataset, {}) == 0);
  std::filesystem::remove(file);
  CHECK(read_bytes_per_s(**dataset, {0}) == 0);
}

TEST_CASE("a file system's name tells whether it keeps files in memory") {
  CHECK(filesystem_of("/nonexistent").empty());
  CHECK(keeps_files_in_memory("tmpfs"));
  CHECK_FALSE(keeps_files_in_memory("ext4"));
  struct statfs facts {};
  if (::statfs("/dev/shm", &facts) == 0 && facts.f_type == 0x01021994) {
    CHECK(filesystem_of("/dev/shm") == "tmpfs");
  }
}

TEST_CASE("the room for a cache is positive and below 1 PB") {
  const double room = cache_room_bytes();
  CHECK(room > 0);
  CHECK(room < 1e15);
  CHECK(storage_bytes_read() >= 0);
}
