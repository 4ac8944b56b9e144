// open_dataset() of penstock/loader/dataset.h.
#include <sys/stat.h>

#include "penstock/loader/dataset.h"
#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"
#include "tests/unit/loader/tars.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("the paths determine the dataset's kind") {
  const TempFolder folder;
  mkdir(folder.path("pictures.tar").c_str(), 0700);
  write_file(folder.path("pictures.tar/a.jpg"), {1});
  write_file(folder.path("0.tar"), tar_of({{"a.jpg", "a"}, {"b.jpg", "b"}}));
  write_file(folder.path("records"), {1, 2, 3});
  auto pictures = open_dataset({folder.path("pictures.tar")});
  REQUIRE(pictures);
  CHECK((*pictures)->name(0) == folder.path("pictures.tar/a.jpg"));
  auto shards = open_dataset({folder.path("0.tar"), folder.path("0.tar")});
  REQUIRE(shards);
  CHECK((*shards)->size() == 4);
  auto records = open_dataset({folder.path("records")}, RecordLayout{1, 0, 0});
  REQUIRE(records);
  CHECK((*records)->tensor_bytes() == 1);
}

TEST_CASE("shards are also a folder's, and those of braces and patterns") {
  const TempFolder folder;
  for (const char* name : {"b-1.tar", "b-0.tar"}) {
    write_file(folder.path(name), tar_of({{name + std::string(".jpg"), "a"}}));
  }
  write_file(folder.path("index.json"), {1});
  for (const std::string& path :
       {folder.path(), folder.path("b-{0..1}.tar"), folder.path("*.tar")}) {
    INFO(path);
    const auto dataset = open_dataset({path});
    REQUIRE(dataset);
    CHECK((*dataset)->size() == 2);
    CHECK((*dataset)->path() == folder.path("b-0.tar"));
  }
}

TEST_CASE("a shard that is named twice is told") {
  const TempFolder folder;
  write_file(folder.path("0.tar"), tar_of({{"a.jpg", "a"}, {"b.jpg", "b"}}));
  const auto shards =
      open_dataset({folder.path("0.tar"), folder.path("0.tar")});
  REQUIRE(shards);
  CHECK((*shards)->facts().duplicates == 2);
}

TEST_CASE("endings are read as WebDataset writes them") {
  CHECK(parse_endings("")->empty());
  CHECK(*parse_endings("JPG;.png;left.png") ==
        std::vector<std::string>{"jpg", "png", "left.png"});
  for (const char* text : {";", "jpg;", "."}) {
    CHECK(parse_endings(text).error().code == Code::kInvalidArgument);
  }
}

TEST_CASE("paths without a dataset are refused with their cause") {
  const TempFolder folder;
  write_file(folder.path("0.tar"), tar_of({{"a.jpg", "a"}}));
  write_file(folder.path("file"), {1});
  write_file(folder.path("a.tar.gz"), {1});
  using Names = std::vector<std::string>;
  const auto [names, has_layout, code, why] =
      GENERATE(table<Names, bool, Code, std::string>({
          {{}, false, Code::kInvalidArgument, "no data is named"},
          {{"none"}, false, Code::kNotFound, "none: No such file"},
          {{"file"}, false, Code::kInvalidArgument, "needs the records' size"},
          {{"a.tar.gz"}, false, Code::kInvalidArgument, "unpack it: gunzip "},
          {{"{2..3}.tar"}, false, Code::kNotFound, "2.tar: No such file"},
          {{"0.tar", "file"}, false, Code::kInvalidArgument, "all of them"},
          {{"file", "file"}, true, Code::kInvalidArgument, "one file only"},
      }));
  Names paths;
  for (const std::string& name : names) paths.push_back(folder.path(name));
  const auto dataset = open_dataset(
      paths, has_layout ? std::optional(RecordLayout{1, 0, 0}) : std::nullopt);
  REQUIRE_FALSE(dataset);
  CHECK(dataset.error().code == code);
  CHECK_THAT(dataset.error().message, ContainsSubstring(why));
}
