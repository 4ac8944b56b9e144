// The records of penstock/loader/dataset.h.
#include <sys/stat.h>

#include "penstock/loader/dataset.h"
#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a file of records has a header, then a label and a tensor each") {
  const ReadMode mode = GENERATE(ReadMode::kBuffered, ReadMode::kDirect);
  const TempFolder folder;
  write_file(folder.path("r"),
             {'h', 'h', 'h', 7, 0, 1, 2, 3, 2, 1, 4, 5, 6, 255, 255, 7, 8, 9});
  auto opened = open_records(folder.path("r"), {5, 2, 3});
  REQUIRE(opened);
  const Dataset& dataset = **opened;
  REQUIRE(dataset.size() == 3);
  CHECK(dataset.tensor_bytes() == 3);
  CHECK(dataset.path() == folder.path("r"));
  CHECK(dataset.name(2) == folder.path("r") + ": record 2");
  const auto reader = dataset.new_reader(mode);
  const int64_t labels[] = {7, 258, 65535};
  for (const uint64_t index : {2u, 0u, 1u}) {
    CHECK(dataset.label(index) == labels[index]);
    const auto bytes = reader->open(index, SampleSource::kUsual);
    if (!bytes && bytes.error().code == Code::kUnavailable) {
      WARN(bytes.error().message);  // the file system of /tmp refuses O_DIRECT
      return;
    }
    REQUIRE(bytes);
    CHECK(*bytes == 5);
    const auto read = reader->read();
    REQUIRE(read);
    const auto first = static_cast<uint8_t>(3 * index + 1);
    CHECK(std::vector<uint8_t>(read->begin(), read->end()) ==
          std::vector<uint8_t>{first, static_cast<uint8_t>(first + 1),
                               static_cast<uint8_t>(first + 2)});
    CHECK(reader->label() == labels[index]);
  }
}

TEST_CASE("records may have no label") {
  const TempFolder folder;
  write_file(folder.path("r"), {1, 2, 3, 4});
  auto dataset = open_records(folder.path("r"), {.record_bytes = 2});
  REQUIRE(dataset);
  CHECK((*dataset)->size() == 2);
  CHECK((*dataset)->tensor_bytes() == 2);
  CHECK((*dataset)->label(1) == kNoLabel);
  const auto reader = (*dataset)->new_reader(ReadMode::kBuffered);
  REQUIRE(reader->open(1, SampleSource::kStorage));
  REQUIRE(reader->read());
  CHECK(reader->label() == kNoLabel);
}

TEST_CASE("a record of a changed file is refused with its name") {
  const TempFolder folder;
  write_file(folder.path("r"), {1, 2, 3, 4});
  auto dataset = open_records(folder.path("r"), {.record_bytes = 2});
  REQUIRE(dataset);
  const auto reader = (*dataset)->new_reader(ReadMode::kBuffered);
  const auto is_named = [&](const Error& error) {
    CHECK(error.code == Code::kInvalidArgument);
    CHECK_THAT(error.message,
               ContainsSubstring(folder.path("r") + ": record 1: 6 bytes now"));
  };
  REQUIRE(reader->open(1, SampleSource::kUsual));
  write_file(folder.path("r"), {1, 2, 3, 4, 5, 6});
  const auto read = reader->read();
  REQUIRE_FALSE(read);
  is_named(read.error());
  const auto opened = reader->open(1, SampleSource::kUsual);
  REQUIRE_FALSE(opened);
  is_named(opened.error());
}

TEST_CASE("an unreadable label counts as no label") {
  const TempFolder folder;
  write_file(folder.path("r"), {1, 2, 3, 4});
  auto dataset = open_records(folder.path("r"), {2, 1, 0});
  REQUIRE(dataset);
  CHECK((*dataset)->label(1) == 3);
  write_file(folder.path("r"), {1, 2});
  CHECK((*dataset)->label(1) == kNoLabel);
}

TEST_CASE("a layout that does not match the file is refused with its cause") {
  const TempFolder folder;
  write_file(folder.path("r"), {1, 2, 3, 4, 5, 6});
  mkdir(folder.path("folder").c_str(), 0700);
  const auto [name, layout, code, why] =
      GENERATE(table<std::string, RecordLayout, Code, std::string>({
          {"r", {0, 0, 0}, Code::kInvalidArgument, "record of 0 bytes"},
          {"r", {2, 2, 0}, Code::kInvalidArgument, "more than its label's"},
          {"r", {6, 5, 0}, Code::kInvalidArgument, "label of 5 bytes"},
          {"r", {(1u << 30) + 1, 0, 0}, Code::kInvalidArgument, "1 GiB"},
          {"r", {4, 0, 0}, Code::kInvalidArgument, "6 bytes are not 0 of a"},
          {"r", {3, 0, 1}, Code::kInvalidArgument, "6 bytes are not 1 of a"},
          {"r", {3, 0, 6}, Code::kInvalidArgument, "6 bytes are not 6 of a"},
          {"folder", {3, 0, 0}, Code::kInvalidArgument, "no regular file"},
          {"none", {3, 0, 0}, Code::kNotFound, "No such file"},
      }));
  const auto dataset = open_records(folder.path(name), layout);
  REQUIRE_FALSE(dataset);
  CHECK(dataset.error().code == code);
  CHECK_THAT(dataset.error().message, ContainsSubstring(folder.path(name)));
  CHECK_THAT(dataset.error().message, ContainsSubstring(why));
}
