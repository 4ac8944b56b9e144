#include "loader/file_reader.h"

#include <sys/stat.h>

#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"

using penstock::Code;
using penstock::FileReader;
using penstock::ReadMode;
using penstock::test::TempFolder;
using penstock::test::write_file;

namespace {

std::vector<uint8_t> numbered_bytes(size_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7 / 5);
  return bytes;
}

}  // namespace

TEST_CASE("files of every size are read whole, buffered and direct") {
  const ReadMode mode = GENERATE(ReadMode::kBuffered, ReadMode::kDirect);
  const size_t size = GENERATE(1, 511, 4095, 4096, 4097, 1000000);
  CAPTURE(size);
  const TempFolder folder;
  const auto bytes = numbered_bytes(size);
  write_file(folder.path("a"), bytes);
  FileReader reader;
  auto opened = reader.open(folder.path("a"), mode);
  if (!opened && opened.error().code == Code::kUnavailable) {
    WARN(opened.error().message);  // /tmp is on such a file system
    return;
  }
  REQUIRE(opened);
  CHECK(*opened == size);
  auto read = reader.read();
  REQUIRE(read);
  CHECK(std::vector<uint8_t>(read->begin(), read->end()) == bytes);
}

TEST_CASE("a reader's buffer serves larger and smaller files in turn") {
  const TempFolder folder;
  write_file(folder.path("large"), numbered_bytes(100000));
  write_file(folder.path("small"), numbered_bytes(10));
  FileReader reader;
  for (const char* name : {"small", "large", "small"}) {
    auto opened = reader.open(folder.path(name), ReadMode::kBuffered);
    REQUIRE(opened);
    auto read = reader.read();
    REQUIRE(read);
    CHECK(read->size() == *opened);
  }
}

TEST_CASE("a file cut short after it was opened gives what is left") {
  const TempFolder folder;
  write_file(folder.path("a"), numbered_bytes(100));
  FileReader reader;
  REQUIRE(reader.open(folder.path("a"), ReadMode::kBuffered));
  write_file(folder.path("a"), numbered_bytes(40));
  auto read = reader.read();
  REQUIRE(read);
  CHECK(read->size() == 40);
}

TEST_CASE("what cannot be read is refused, naming the path") {
  const TempFolder folder;
  write_file(folder.path("empty"), {});
  mkfifo(folder.path("fifo").c_str(), 0600);
  FileReader reader;
  const auto [name, code] = GENERATE(table<std::string, Code>({
      {"missing", Code::kNotFound},
      {"empty", Code::kInvalidArgument},
      {"fifo", Code::kInvalidArgument},
      {"", Code::kInvalidArgument},
  }));
  auto opened = reader.open(folder.path(name), ReadMode::kBuffered);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == code);
  CHECK(opened.error().message.find(folder.path(name)) == 0);
}
