#include "loader/data/tar.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"
#include "tests/unit/loader/tars.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

TarWalker::Source source_of(const std::vector<uint8_t>& tar) {
  return {tar.size(), [&tar](uint64_t offset, std::span<uint8_t> out) {
            REQUIRE(offset + out.size() <= tar.size());
            std::memcpy(out.data(), tar.data() + offset, out.size());
            return Status(Done{});
          }};
}

struct Walk {
  std::vector<TarMember> members;
  std::string error;  // "": the end mark was reached
};

Walk walk(const std::vector<uint8_t>& tar) {
  Walk all;
  TarWalker walker(source_of(tar));
  for (;;) {
    auto member = walker.next();
    if (!member) {
      CHECK(member.error().code == Code::kInvalidArgument);
      all.error = member.error().message;
      return all;
    }
    if (!*member) return all;
    all.members.push_back(**member);
  }
}

std::string text_of(const std::vector<uint8_t>& tar, const TarMember& member) {
  const auto begin = tar.begin() + static_cast<long>(member.offset);
  return {begin, begin + static_cast<long>(member.bytes)};
}

}  // namespace

TEST_CASE("regular members are found with their offsets and sizes") {
  std::vector<uint8_t> tar;
  add_member(tar, "folder/", "", '5');
  add_member(tar, "folder/a.jpg", "picture");
  add_member(tar, "link", "", '2');
  add_member(tar, "old", std::string(513, 'x'), '\0');
  add_member(tar, "empty", "");
  end_tar(tar);
  const Walk all = walk(tar);
  CHECK(all.error.empty());
  REQUIRE(all.members.size() == 3);
  CHECK(all.members[0].name == "folder/a.jpg");
  CHECK(text_of(tar, all.members[0]) == "picture");
  CHECK(all.members[1].bytes == 513);
  CHECK(all.members[2].name == "empty");
  CHECK(all.members[2].bytes == 0);
}

TEST_CASE("archives of GNU tar are read in each of its formats") {
  const char* format = GENERATE("gnu", "oldgnu", "pax", "posix", "ustar", "v7");
  CAPTURE(format);
  const bool is_long = std::string(format) != "v7";
  const TempFolder folder;
  // Over 100 bytes, in parts that ustar can split.
  const std::string deep = std::string(80, 'd') + "/" + std::string(80, 'e');
  const std::string name = is_long ? deep + "/long.jpg" : "short.jpg";
  std::filesystem::create_directories(folder.path(deep));
  write_file(folder.path(name), bytes_of("one"));
  write_file(folder.path("z.cls"), bytes_of("7\n"));
  const std::string command = "cd " + folder.path() +
                              " && tar --format=" + format + " -cf all.tar " +
                              name + " z.cls";
  REQUIRE(std::system(command.c_str()) == 0);
  std::ifstream file(folder.path("all.tar"));
  const std::vector<uint8_t> tar{std::istreambuf_iterator<char>(file), {}};
  const Walk all = walk(tar);
  CHECK(all.error.empty());
  REQUIRE(all.members.size() == 2);
  CHECK(all.members[0].name == name);
  CHECK(text_of(tar, all.members[0]) == "one");
  CHECK(text_of(tar, all.members[1]) == "7\n");
}

TEST_CASE("names and sizes of pax and GNU tar apply to one member") {
  std::vector<uint8_t> tar;
  add_member(tar, "g", "52 comment=a global header, which says nothing here\n",
             'g');
  const std::string name(300, 'n');
  add_member(tar, "x", "310 path=" + name + "\n10 size=3\n", 'x');
  // The size field is overridden by pax and may have any value.
  auto header = tar_header("short", 3);
  std::memcpy(header.data() + 124, "00000000000", 11);
  sign_tar_header(header, 0);
  tar.insert(tar.end(), header.begin(), header.end());
  tar.insert(tar.end(), {'a', 'b', 'c'});
  tar.resize((tar.size() + 511) / 512 * 512);
  add_member(tar, "L", name + "x" + std::string(1, '\0'), 'L');
  add_member(tar, "short", "d");
  add_member(tar, "own", "e");
  end_tar(tar);
  const Walk all = walk(tar);
  CHECK(all.error.empty());
  REQUIRE(all.members.size() == 3);
  CHECK(all.members[0].name == name);
  CHECK(text_of(tar, all.members[0]) == "abc");
  CHECK(all.members[1].name == name + "x");
  CHECK(text_of(tar, all.members[1]) == "d");
  CHECK(all.members[2].name == "own");
}

TEST_CASE("a size may be written in binary") {
  std::vector<uint8_t> tar;
  add_member(tar, "a", "abc");
  std::memset(tar.data() + 124, 0, 12);
  tar[124] = 0x80;
  tar[135] = 3;
  sign_tar_header(tar, 0);
  end_tar(tar);
  const Walk all = walk(tar);
  REQUIRE(all.members.size() == 1);
  CHECK(all.members[0].bytes == 3);
}

TEST_CASE("an archive truncated anywhere is refused with the offset") {
  std::vector<uint8_t> tar;
  add_member(tar, "a.jpg", std::string(700, 'a'));
  add_member(tar, "b.jpg", std::string(100, 'b'));
  const size_t members = tar.size();
  end_tar(tar);
  for (size_t size = 0; size < members + 512; size += 7) {
    const std::vector<uint8_t> part(tar.begin(),
                                    tar.begin() + static_cast<long>(size));
    CAPTURE(size);
    const Walk all = walk(part);
    REQUIRE_THAT(all.error, ContainsSubstring("cut short"));
    REQUIRE_THAT(all.error, ContainsSubstring("tar: at byte "));
  }
}

TEST_CASE("a damaged archive is refused with the offset") {
  std::vector<uint8_t> tar;
  add_member(tar, "a", "a");
  add_member(tar, "b", "b");
  std::string why = "at byte 1024: ";
  SECTION("a changed byte in a header") {
    tar[1024] = 'x';
    why += "damaged header: its checksum is wrong";
  }
  SECTION("a file that is not a tar archive") {
    tar[0] = 0x1f;
    why = "at byte 0: no tar header; compressed archives";
  }
  SECTION("a size that is not a number") {
    std::memcpy(tar.data() + 1024 + 124, "12345678x", 9);
    sign_tar_header(tar, 1024);
    why += "damaged header: its size";
  }
  SECTION("a negative size") {
    std::memset(tar.data() + 1024 + 124, 0xff, 12);
    sign_tar_header(tar, 1024);
    why += "damaged header: its size";
  }
  SECTION("a size beyond the file") {
    std::memcpy(tar.data() + 1024 + 124, "77777777777", 11);
    sign_tar_header(tar, 1024);
    why += "cut short: 8589934591 bytes are to follow, 1536 do";
  }
  SECTION("a sparse file of GNU tar") {
    tar[1024 + 156] = 'S';
    sign_tar_header(tar, 1024);
    why += "sparse files are not handled";
  }
  end_tar(tar);
  CHECK_THAT(walk(tar).error, ContainsSubstring(why));
}

TEST_CASE("a damaged pax header is refused") {
  const auto [records, why] = GENERATE(table<std::string, std::string>({
      {"x path=a\n", "damaged pax header"},
      {"9 path=a", "damaged pax header"},
      {"9 path=ab", "damaged pax header"},
      {"99 path=a\n", "damaged pax header"},
      {"3 \n", "damaged pax header"},
      {"2\n", "damaged pax header"},
      {"9 pathab\n", "damaged pax header"},
      {"10 size=-\n", "damaged pax header"},
      {"28 size=99999999999999999999\n", "damaged pax header"},
      {"29 size=18446744073709551615\n", "cut short"},
      {"22 GNU.sparse.major=1\n", "sparse files are not handled"},
  }));
  CAPTURE(records);
  std::vector<uint8_t> tar;
  add_member(tar, "x", records, 'x');
  add_member(tar, "a", "a");
  end_tar(tar);
  CHECK_THAT(walk(tar).error, ContainsSubstring(why));
}

TEST_CASE("a name over 64 KiB is refused") {
  std::vector<uint8_t> tar;
  const char type = GENERATE('x', 'L');
  add_member(tar, "x", std::string(65537, 'a'), type);
  end_tar(tar);
  CHECK_THAT(walk(tar).error, ContainsSubstring("allowed: 64 KiB"));
}

TEST_CASE("an error of the source is returned") {
  TarWalker walker({1024, [](uint64_t, std::span<uint8_t>) {
                      return Status(system_error(EIO, "disk"));
                    }});
  const auto member = walker.next();
  REQUIRE_FALSE(member);
  CHECK(member.error().code == Code::kIo);
}
