// The tar shards of penstock/loader/dataset.h.
#include <sys/stat.h>

#include "penstock/loader/dataset.h"
#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"
#include "tests/unit/loader/tars.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("shards form one dataset, read in any order, buffered and direct") {
  const ReadMode mode = GENERATE(ReadMode::kBuffered, ReadMode::kDirect);
  const auto source = GENERATE(SampleSource::kUsual, SampleSource::kMemory,
                               SampleSource::kStorage);
  const TempFolder folder;
  const std::string large(10000, 'l');
  write_file(folder.path("0.tar"),
             tar_of({{"a.jpg", "first"}, {"a.cls", "5"}, {"b.jpg", large}}));
  write_file(folder.path("1.tar"), tar_of({{"c.jpg", "third"}}));
  auto opened = open_tar_shards({folder.path("0.tar"), folder.path("1.tar")});
  REQUIRE(opened);
  const Dataset& dataset = **opened;
  REQUIRE(dataset.size() == 3);
  CHECK(dataset.path() == folder.path("0.tar"));
  CHECK(dataset.name(0) == folder.path("0.tar") + ": a.jpg");
  CHECK(dataset.name(2) == folder.path("1.tar") + ": c.jpg");
  CHECK(dataset.label(0) == 5);
  CHECK(dataset.label(1) == kNoLabel);
  CHECK(dataset.tensor_bytes() == 0);
  const auto reader = dataset.new_reader(mode);
  const std::string texts[] = {"first", large, "third"};
  for (const uint64_t index : {2u, 0u, 1u, 1u, 2u}) {
    const auto bytes = reader->open(index, source);
    if (!bytes && bytes.error().code == Code::kUnavailable) {
      WARN(bytes.error().message);  // the file system of /tmp refuses O_DIRECT
      return;
    }
    REQUIRE(bytes);
    CHECK(*bytes == texts[index].size());
    const auto read = reader->read();
    REQUIRE(read);
    CHECK(std::string(read->begin(), read->end()) == texts[index]);
  }
}

TEST_CASE("a shard that changed after it was opened is refused") {
  const TempFolder folder;
  write_file(folder.path("0.tar"), tar_of({{"a.jpg", "first"}}));
  auto dataset = open_tar_shards({folder.path("0.tar")});
  REQUIRE(dataset);
  const auto reader = (*dataset)->new_reader(ReadMode::kBuffered);
  write_file(folder.path("0.tar"), {1, 2, 3});
  const auto bytes = reader->open(0, SampleSource::kUsual);
  REQUIRE_FALSE(bytes);
  CHECK(bytes.error().code == Code::kInvalidArgument);
  CHECK_THAT(bytes.error().message,
             ContainsSubstring(folder.path("0.tar") + ": a.jpg: 3 bytes now"));
}

TEST_CASE("a shard that changes between opening and reading is refused") {
  const TempFolder folder;
  write_file(folder.path("0.tar"), tar_of({{"a.jpg", "first"}}));
  auto dataset = open_tar_shards({folder.path("0.tar")});
  REQUIRE(dataset);
  const auto reader = (*dataset)->new_reader(ReadMode::kBuffered);
  REQUIRE(reader->open(0, SampleSource::kUsual));
  write_file(folder.path("0.tar"), std::vector<uint8_t>(100000, 1));
  const auto bytes = reader->read();
  REQUIRE_FALSE(bytes);
  CHECK(bytes.error().code == Code::kInvalidArgument);
  CHECK_THAT(bytes.error().message,
             ContainsSubstring(folder.path("0.tar") + ": a.jpg: 100000 bytes"));
}

TEST_CASE("unusable shards are refused with file and offset") {
  const TempFolder folder;
  write_file(folder.path("good.tar"), tar_of({{"a.jpg", "a"}}));
  write_file(folder.path("none.tar"), tar_of({{"a.txt", "a"}}));
  write_file(folder.path("cut.tar"), std::vector<uint8_t>(100, 'x'));
  mkdir(folder.path("folder.tar").c_str(), 0700);
  const auto [name, code, why] =
      GENERATE(table<std::string, Code, std::string>({
          {"missing.tar", Code::kNotFound, "missing.tar: No such file"},
          {"none.tar", Code::kNotFound, "no member whose name ends in .jpg"},
          {"cut.tar", Code::kInvalidArgument, "cut.tar: tar: at byte 0: cut"},
          {"folder.tar", Code::kInvalidArgument, "no regular file"},
      }));
  const auto alone = open_tar_shards({folder.path(name)});
  REQUIRE_FALSE(alone);
  CHECK(alone.error().code == code);
  CHECK_THAT(alone.error().message, ContainsSubstring(why));
  // A shard without a picture is valid together with others.
  CHECK(open_tar_shards({folder.path("good.tar"), folder.path(name)}).ok() ==
        (name == "none.tar"));
  CHECK_FALSE(open_tar_shards({}));
}
