// The folder dataset of penstock/loader/dataset.h.
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "penstock/loader/dataset.h"
#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"

using namespace penstock;
using penstock::test::TempFolder;
using penstock::test::write_file;

namespace {

std::vector<uint8_t> read_sample(SampleReader& reader, uint64_t index) {
  REQUIRE(reader.open(index, SampleSource::kUsual));
  auto bytes = reader.read();
  REQUIRE(bytes);
  return {bytes->begin(), bytes->end()};
}

// Opens the folder as a user other than root.
Result<std::shared_ptr<const Dataset>> opened_by_anybody(
    const TempFolder& folder) {
  chmod(folder.path().c_str(), 0755);
  if (geteuid() == 0) setfsuid(65534);
  auto opened = open_folder(folder.path());
  if (geteuid() == 0) setfsuid(0);
  return opened;
}

}  // namespace

TEST_CASE("a folder's samples are the pictures below it, in byte order") {
  const TempFolder folder;
  mkdir(folder.path("b").c_str(), 0700);
  for (const char* name : {"c.JPEG", "b/z.jpg", "b/a.jpg", "note.txt", "x.ppm",
                           "d.jpg.part", "jpg", "y.webp", "w.PNG"}) {
    write_file(folder.path(name), {1});
  }
  mkdir(folder.path("folder.jpg").c_str(), 0700);
  REQUIRE(symlink("nowhere", folder.path("e.jpg").c_str()) == 0);
  SampleRules rules;
  rules.allow_empty = true;
  auto dataset = open_folder(folder.path(), rules);
  REQUIRE(dataset);
  std::vector<std::string> names;
  for (uint64_t i = 0; i < (*dataset)->size(); ++i) {
    names.push_back((*dataset)->name(i));
  }
  CHECK(names ==
        std::vector<std::string>{folder.path("b/a.jpg"), folder.path("b/z.jpg"),
                                 folder.path("c.JPEG"), folder.path("w.PNG"),
                                 folder.path("x.ppm"), folder.path("y.webp")});
  CHECK((*dataset)->path() == folder.path());
  CHECK((*dataset)->tensor_bytes() == 0);
}

TEST_CASE("labels are the numbers of sub-folders, as with ImageFolder") {
  const TempFolder folder;
  for (const char* name : {"a", "a-b", "B", "B/deep", "empty"}) {
    mkdir(folder.path(name).c_str(), 0700);
  }
  for (const char* name : {"a/1.jpg", "a-b/1.jpg", "B/deep/1.jpg", "1.jpg"}) {
    write_file(folder.path(name), {1});
  }
  // A class may be a link, and folders in it; a loop is left out.
  REQUIRE(symlink("B", folder.path("z").c_str()) == 0);
  REQUIRE(symlink("../B", folder.path("a/linked").c_str()) == 0);
  REQUIRE(symlink("..", folder.path("a/up").c_str()) == 0);
  REQUIRE(symlink("nowhere", folder.path("a/none.jpg").c_str()) == 0);
  SampleRules rules;
  rules.allow_empty = true;
  auto dataset = open_folder(folder.path(), rules);
  REQUIRE(dataset);
  std::vector<std::pair<std::string, int64_t>> labels;
  for (uint64_t i = 0; i < (*dataset)->size(); ++i) {
    labels.emplace_back((*dataset)->name(i).substr(folder.path().size() + 1),
                        (*dataset)->label(i));
  }
  // B, a, a-b, empty, z; the order of the samples is that of their paths.
  CHECK(labels ==
        std::vector<std::pair<std::string, int64_t>>{{"1.jpg", kNoLabel},
                                                     {"B/deep/1.jpg", 0},
                                                     {"a-b/1.jpg", 2},
                                                     {"a/1.jpg", 1},
                                                     {"a/linked/deep/1.jpg", 1},
                                                     {"z/deep/1.jpg", 4}});
  CHECK((*dataset)->facts().text() ==
        "6 samples, 5 labelled, 5 classes, 1 of these without a picture "
        "(empty), 2 there twice; left out: 2 links that lead nowhere or to a "
        "folder above them (a/none.jpg, a/up)");
  CHECK((*dataset)->facts().is_doubtful());
}

TEST_CASE("links that lead to each other end") {
  const TempFolder folder;
  for (const char* name : {"a", "b"}) mkdir(folder.path(name).c_str(), 0700);
  write_file(folder.path("a/1.jpg"), {1});
  write_file(folder.path("b/2.jpg"), {1});
  REQUIRE(symlink("../b", folder.path("a/to_b").c_str()) == 0);
  REQUIRE(symlink("../a", folder.path("b/to_a").c_str()) == 0);
  const auto dataset = open_folder(folder.path());
  REQUIRE(dataset);
  CHECK((*dataset)->size() == 4);
  CHECK((*dataset)->facts().duplicates == 2);
  CHECK((*dataset)->facts().of(Omission::kLink).count == 2);
}

TEST_CASE("a class without a picture is an error that names it") {
  const TempFolder folder;
  for (const char* name : {"a", "b", "c", ".ipynb_checkpoints"}) {
    mkdir(folder.path(name).c_str(), 0700);
  }
  write_file(folder.path("b/1.jpg"), {1});
  write_file(folder.path("a/notes.txt"), {1});
  const auto refused = open_folder(folder.path());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kInvalidArgument);
  CHECK_THAT(refused.error().message,
             Catch::Matchers::ContainsSubstring(
                 ": 2 names (a, c) are classes without"));
  std::filesystem::remove_all(folder.path("a"));
  std::filesystem::remove_all(folder.path("c"));
  const auto dataset = open_folder(folder.path());
  REQUIRE(dataset);
  CHECK((*dataset)->label(0) == 0);  // what is hidden is no class
  CHECK((*dataset)->facts().of(Omission::kHidden).text() ==
        ".ipynb_checkpoints");
}

TEST_CASE(
    "pictures that are not read are refused by name, unless others are "
    "chosen") {
  const TempFolder folder;
  mkdir(folder.path("a").c_str(), 0700);
  for (const char* name :
       {"a/1.jpg", "a/2.BMP", "a/3.tif", "a/4.pgm", "a/5.png"}) {
    write_file(folder.path(name), {1});
  }
  const auto refused = open_folder(folder.path());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kInvalidArgument);
  for (const char* name : {"a/2.BMP", "a/3.tif", "a/4.pgm", "--image"}) {
    CHECK_THAT(refused.error().message,
               Catch::Matchers::ContainsSubstring(name));
  }
  SampleRules rules;
  rules.image = {"jpg"};
  const auto dataset = open_folder(folder.path(), rules);
  REQUIRE(dataset);
  CHECK((*dataset)->size() == 1);
  CHECK((*dataset)->facts().of(Omission::kNotChosen).count == 4);
  CHECK_FALSE((*dataset)->facts().is_doubtful());
}

TEST_CASE("a folder's samples can be read in any order") {
  const TempFolder folder;
  write_file(folder.path("a.jpg"), {1, 2, 3});
  write_file(folder.path("b.jpg"), {4});
  auto dataset = open_folder(folder.path());
  REQUIRE(dataset);
  const auto reader = (*dataset)->new_reader(ReadMode::kBuffered);
  CHECK(read_sample(*reader, 1) == std::vector<uint8_t>{4});
  CHECK(read_sample(*reader, 0) == std::vector<uint8_t>{1, 2, 3});
  CHECK(reader->label() == kNoLabel);
  std::filesystem::remove(folder.path("a.jpg"));
  const auto gone = reader->open(0, SampleSource::kUsual);
  REQUIRE_FALSE(gone);
  CHECK(gone.error().code == Code::kNotFound);
  CHECK_THAT(gone.error().message,
             Catch::Matchers::ContainsSubstring(folder.path("a.jpg")));
}

TEST_CASE("a folder without samples and a missing folder are errors") {
  const TempFolder folder;
  auto empty = open_folder(folder.path());
  REQUIRE_FALSE(empty);
  CHECK(empty.error().code == Code::kNotFound);
  CHECK_THAT(empty.error().message,
             Catch::Matchers::ContainsSubstring(".jpg, .jpeg"));
  auto missing = open_folder(folder.path("none"));
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Code::kNotFound);
}

TEST_CASE("an unreadable sub-folder is an error") {
  const TempFolder folder;
  mkdir(folder.path("a").c_str(), 0700);
  write_file(folder.path("a/1.jpg"), {1});
  write_file(folder.path("2.jpg"), {1});
  REQUIRE(symlink("loop", folder.path("loop").c_str()) == 0);
  CHECK(open_folder(folder.path()));  // a link to nothing is no folder
  chmod(folder.path("a").c_str(), 0);
  auto refused = opened_by_anybody(folder);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kPermissionDenied);
  CHECK_THAT(refused.error().message,
             Catch::Matchers::ContainsSubstring(folder.path("a")));
}

TEST_CASE("an entry without access is an error and is not skipped") {
  const TempFolder folder;
  const TempFolder elsewhere;
  for (const char* name : {"a", "z"}) mkdir(folder.path(name).c_str(), 0755);
  write_file(folder.path("z/1.jpg"), {1});
  // A class, a picture in a class, and one outside every class.
  const std::string name = GENERATE("b", "a/2.jpg", "3.jpg");
  REQUIRE(symlink(elsewhere.path("x").c_str(), folder.path(name).c_str()) == 0);
  chmod(elsewhere.path().c_str(), 0);
  const auto refused = opened_by_anybody(folder);
  chmod(elsewhere.path().c_str(), 0700);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kPermissionDenied);
  CHECK_THAT(refused.error().message,
             Catch::Matchers::ContainsSubstring(folder.path(name)));
}
