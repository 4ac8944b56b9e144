#include "loader/dataset.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"

using penstock::Code;
using penstock::open_dataset;
using penstock::SampleFormat;
using penstock::test::TempFolder;
using penstock::test::write_file;

TEST_CASE("a dataset is the pictures below a folder, in byte order") {
  const TempFolder folder;
  mkdir(folder.path("b").c_str(), 0700);
  for (const char* name : {"c.JPEG", "b/z.jpg", "b/a.jpg", "note.txt", "x.ppm",
                           "d.jpg.part", "jpg"}) {
    write_file(folder.path(name), {1});
  }
  mkdir(folder.path("folder.jpg").c_str(), 0700);
  REQUIRE(symlink("nowhere", folder.path("e.jpg").c_str()) == 0);
  auto dataset = open_dataset(folder.path(), SampleFormat::kJpeg);
  REQUIRE(dataset);
  CHECK(dataset->paths == std::vector<std::string>{folder.path("b/a.jpg"),
                                                   folder.path("b/z.jpg"),
                                                   folder.path("c.JPEG")});
  auto raw = open_dataset(folder.path(), SampleFormat::kRaw);
  REQUIRE(raw);
  CHECK(raw->paths == std::vector<std::string>{folder.path("x.ppm")});
}

TEST_CASE("a folder without a sample, or no folder, is an error") {
  const TempFolder folder;
  auto empty = open_dataset(folder.path(), SampleFormat::kJpeg);
  REQUIRE_FALSE(empty);
  CHECK(empty.error().code == Code::kNotFound);
  CHECK_THAT(empty.error().message,
             Catch::Matchers::ContainsSubstring(".jpg or .jpeg"));
  auto missing = open_dataset(folder.path("none"), SampleFormat::kJpeg);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Code::kNotFound);
}
