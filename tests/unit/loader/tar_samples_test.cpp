#include "loader/data/tar_samples.h"

#include <cstring>

#include "tests/unit/catch.h"
#include "tests/unit/loader/tars.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

Result<std::vector<TarSample>> find(const Members& members) {
  const auto tar = tar_of(members);
  return find_tar_samples(
      {tar.size(), [&tar](uint64_t offset, std::span<uint8_t> out) {
         std::memcpy(out.data(), tar.data() + offset, out.size());
         return Status(Done{});
       }});
}

std::vector<std::pair<std::string, int64_t>> found(const Members& members) {
  auto samples = find(members);
  REQUIRE(samples);
  std::vector<std::pair<std::string, int64_t>> all;
  for (const TarSample& sample : *samples) {
    all.emplace_back(sample.name, sample.label);
  }
  return all;
}

}  // namespace

TEST_CASE(
    "members with the same key form a sample, labelled by its .cls member") {
  const auto all = found({{"0.jpg", "a"},
                          {"0.cls", "17\n"},
                          {"1.cls", "0"},
                          {"1.PNG", "b"},
                          {"a/1.jpg", "c"},
                          {"./b.c/1.seg.png", "d"},
                          {"./b.c/1.json", "{}"}});
  CHECK(all ==
        std::vector<std::pair<std::string, int64_t>>{{"0.jpg", 17},
                                                     {"1.PNG", 0},
                                                     {"a/1.jpg", -1},
                                                     {"./b.c/1.seg.png", -1}});
}

TEST_CASE(
    "a sample is its first picture; members without key or picture are "
    "ignored") {
  const auto all = found({{"README", "text"},
                          {"a/.hidden.jpg", "x"},
                          {"0.jpg", "a"},
                          {"0.mask.png", "m"},
                          {"1.txt", "t"},
                          {"1.cls", "3"},
                          {"2.webp", "b"}});
  CHECK(all == std::vector<std::pair<std::string, int64_t>>{{"0.jpg", -1},
                                                            {"2.webp", -1}});
  CHECK(found({}).empty());
}

TEST_CASE("an invalid sample is refused with its name") {
  const auto [members, why] = GENERATE(table<Members, std::string>({
      {{{"0.jpg", ""}}, "at byte 512: 0.jpg: an empty picture"},
      {{{"0.jpg", "a"}, {"0.cls", "cat"}}, "at byte 1536: 0.cls: no label"},
      {{{"0.jpg", "a"}, {"0.cls", ""}}, "no label"},
      {{{"0.jpg", "a"}, {"0.cls", "-1"}}, "no label"},
      {{{"0.jpg", "a"}, {"0.cls", "2147483648"}}, "no label"},
      {{{"0.jpg", "a"}, {"0.cls", "1 2"}}, "no label"},
      {{{"0.jpg", "a"}, {"0.cls", std::string(30, ' ')}}, "no label"},
      {{{"0.jpg", "a"}, {"0.jpg", "b"}}, "a second member of that name"},
  }));
  const auto samples = find(members);
  REQUIRE_FALSE(samples);
  CHECK(samples.error().code == Code::kInvalidArgument);
  CHECK_THAT(samples.error().message, ContainsSubstring(why));
}
