#include "loader/data/file_reader.h"

#include <sys/stat.h>

#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"

using penstock::Code;
using penstock::FileReader;
using penstock::FileVersion;
using penstock::ReadMode;
using penstock::test::TempFolder;
using penstock::test::write_file;

namespace {

FileVersion version_of(const std::string& path) {
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  return FileVersion::of(status);
}

std::vector<uint8_t> numbered_bytes(size_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7 / 5);
  return bytes;
}

}  // namespace

TEST_CASE("files of every size are read completely, buffered and direct") {
  const ReadMode mode = GENERATE(ReadMode::kBuffered, ReadMode::kDirect);
  const size_t size = GENERATE(1, 511, 4095, 4096, 4097, 1000000);
  CAPTURE(size);
  const TempFolder folder;
  const auto bytes = numbered_bytes(size);
  write_file(folder.path("a"), bytes);
  FileReader reader;
  auto opened = reader.open(folder.path("a"), mode);
  if (!opened && opened.error().code == Code::kUnavailable) {
    WARN(opened.error().message);  // the file system of /tmp refuses O_DIRECT
    return;
  }
  REQUIRE(opened);
  CHECK(*opened == size);
  auto read = reader.read();
  REQUIRE(read);
  CHECK(std::vector<uint8_t>(read->begin(), read->end()) == bytes);
}

TEST_CASE("a reader reads larger and smaller files in turn") {
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

TEST_CASE("a file truncated after opening gives its remaining bytes") {
  const TempFolder folder;
  write_file(folder.path("a"), numbered_bytes(100));
  FileReader reader;
  REQUIRE(reader.open(folder.path("a"), ReadMode::kBuffered));
  write_file(folder.path("a"), numbered_bytes(40));
  auto read = reader.read();
  REQUIRE(read);
  CHECK(read->size() == 40);
}

TEST_CASE("unreadable files are refused with their path") {
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

TEST_CASE("parts of a file are read at any offset") {
  const ReadMode mode = GENERATE(ReadMode::kBuffered, ReadMode::kDirect);
  const TempFolder folder;
  const auto bytes = numbered_bytes(20001);
  write_file(folder.path("a"), bytes);
  FileReader reader;
  for (const auto& [offset, size] : std::vector<std::pair<size_t, size_t>>{
           {0, 1}, {4095, 2}, {4096, 4096}, {512, 20001 - 512}, {20000, 1}}) {
    CAPTURE(offset, size);
    auto opened = reader.open_part(
        folder.path("a"), mode, {offset, size, version_of(folder.path("a"))});
    if (!opened && opened.error().code == Code::kUnavailable) {
      WARN(opened.error().message);  // the file system of /tmp refuses O_DIRECT
      return;
    }
    REQUIRE(opened);
    CHECK(*opened == size);
    auto read = reader.read();
    REQUIRE(read);
    const auto begin = bytes.begin() + static_cast<long>(offset);
    CHECK(std::vector<uint8_t>(read->begin(), read->end()) ==
          std::vector<uint8_t>(begin, begin + static_cast<long>(size)));
  }
}

TEST_CASE("one reader reads parts and whole files in turn") {
  const TempFolder folder;
  write_file(folder.path("a"), {1, 2, 3});
  write_file(folder.path("b"), {4, 5, 6});
  FileReader reader;
  const auto part = [&](const char* name) {
    REQUIRE(reader.open_part(folder.path(name), ReadMode::kBuffered,
                             {1, 1, version_of(folder.path(name))}));
    auto read = reader.read();
    REQUIRE(read);
    REQUIRE(read->size() == 1);
    return int((*read)[0]);
  };
  CHECK(part("a") == 2);
  CHECK(part("b") == 5);
  REQUIRE(reader.open(folder.path("b"), ReadMode::kBuffered));
  CHECK(reader.read()->size() == 3);
  CHECK(part("b") == 5);
}

TEST_CASE("parts of a changed file are refused with its path") {
  const TempFolder folder;
  write_file(folder.path("a"), numbered_bytes(100));
  FileReader reader;
  const auto open = [&](FileReader::Part part) {
    return reader.open_part(folder.path("a"), ReadMode::kBuffered, part);
  };
  const FileVersion version = version_of(folder.path("a"));
  CHECK_FALSE(open({0, 0, version}));
  FileVersion shorter = version;
  --shorter.bytes;
  const auto other = open({0, 10, shorter});
  REQUIRE_FALSE(other);
  CHECK(other.error().code == Code::kInvalidArgument);
  CHECK(other.error().message.find(folder.path("a") + ": 100 bytes now, 99") ==
        0);
  FileVersion earlier = version;
  --earlier.modified_ns;
  const auto later = open({0, 10, earlier});
  REQUIRE_FALSE(later);
  CHECK(later.error().message.find(folder.path("a") + ": written to since") ==
        0);
  FileVersion other_version = version;
  ++other_version.inode;
  const auto replaced = open({0, 10, other_version});
  REQUIRE_FALSE(replaced);
  CHECK(replaced.error().code == Code::kInvalidArgument);
  CHECK(replaced.error().message.find(folder.path("a") + ": another file") ==
        0);
  REQUIRE(open({10, 10, version}));
  write_file(folder.path("a"), numbered_bytes(101));
  const auto meanwhile = reader.read();
  REQUIRE_FALSE(meanwhile);
  CHECK(meanwhile.error().code == Code::kInvalidArgument);
  CHECK(meanwhile.error().message.find(folder.path("a") +
                                       ": 101 bytes now, 100") == 0);
  REQUIRE(open({90, 10, version_of(folder.path("a"))}));
  write_file(folder.path("a"), numbered_bytes(95));
  const auto read = reader.read();
  REQUIRE_FALSE(read);
  CHECK(read.error().code == Code::kIo);
  CHECK(read.error().message.find(folder.path("a")) == 0);
}
