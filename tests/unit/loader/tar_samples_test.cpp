#include "loader/data/tar_samples.h"

#include <cstring>

#include "tests/unit/catch.h"
#include "tests/unit/loader/tars.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

using Found = std::vector<std::pair<std::string, int64_t>>;

Result<TarSamples> find(const Members& members, const SampleRules& rules = {}) {
  const auto tar = tar_of(members);
  return find_tar_samples({tar.size(),
                           [&tar](uint64_t offset, std::span<uint8_t> out) {
                             std::memcpy(out.data(), tar.data() + offset,
                                         out.size());
                             return Status(Done{});
                           }},
                          rules);
}

Found found(const Members& members, const SampleRules& rules = {}) {
  auto out = find(members, rules);
  REQUIRE(out);
  Found all;
  for (const TarSample& sample : out->samples) {
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
  CHECK(all == Found{{"0.jpg", 17},
                     {"1.PNG", 0},
                     {"a/1.jpg", -1},
                     {"./b.c/1.seg.png", -1}});
}

TEST_CASE("members without key or picture are left out, and named") {
  const auto out = find({{"README", "text"},
                         {"a/.hidden.jpg", "x"},
                         {"0.jpg", "a"},
                         {"0.json", "{}"},
                         {"1.txt", "t"},
                         {"1.cls", "3"},
                         {"1.a", "3"},
                         {"1.b", "3"},
                         {"1.c", "3"},
                         {"2.webp", "b"},
                         {"2.CLS", "4"},
                         {"0.cls", "5"}});
  REQUIRE(out);
  REQUIRE(out->samples.size() == 2);
  CHECK(out->samples[1].label == 4);
  const DatasetFacts& facts = out->facts;
  CHECK(facts.of(Omission::kEnding).text() == "README");
  CHECK(facts.of(Omission::kHidden).text() == "a/.hidden.jpg");
  CHECK(facts.of(Omission::kPartner).count == 5);
  CHECK(facts.of(Omission::kPartner).text() == "1.a, 1.b, 1.c, ...");
  CHECK(facts.of(Omission::kNotChosen).count == 0);
  CHECK(found({}).empty());
}

TEST_CASE("members of a sample may be anywhere in the shard") {
  CHECK(
      found({{"0.jpg", "a"}, {"1.jpg", "b"}, {"1.cls", "1"}, {"0.cls", "2"}}) ==
      Found{{"0.jpg", 2}, {"1.jpg", 1}});
  CHECK(
      found({{"0.cls", "2"}, {"1.cls", "1"}, {"1.jpg", "b"}, {"0.jpg", "a"}}) ==
      Found{{"0.jpg", 2}, {"1.jpg", 1}});
}

TEST_CASE("the rules choose a sample's picture") {
  const Members members = {{"0.cls", "1"},
                           {"0.depth.png", "d"},
                           {"0.JPG", "j"},
                           {"1.depth.png", "d"},
                           {"1.cls", "2"}};
  SampleRules rules;
  rules.image = {"jpg", "depth.png"};
  CHECK(found(members, rules) == Found{{"0.JPG", 1}, {"1.depth.png", 2}});
  CHECK(find(members, rules)->facts.of(Omission::kNotChosen).text() ==
        "0.depth.png");
  rules.image = {"depth.png"};
  CHECK(found(members, rules) == Found{{"0.depth.png", 1}, {"1.depth.png", 2}});
  rules.image = {"jpg"};
  const auto one = find(members, rules);
  REQUIRE(one);
  CHECK(one->samples.size() == 1);
  CHECK(one->facts.of(Omission::kPartner).text() == "1.cls");
}

TEST_CASE("the rules choose keys and labels") {
  const Members members = {{"f_1.25.jpg", "a"},
                           {"f_1.25.cls", "25"},
                           {"f_1.50.jpg", "b"},
                           {"f_1.50.cls", "50"}};
  SampleRules rules;
  rules.key = SampleRules::Key::kLastDot;
  CHECK(found(members, rules) == Found{{"f_1.25.jpg", 25}, {"f_1.50.jpg", 50}});
  rules.label = "Id";
  CHECK(found({{"0.jpg", "a"}, {"0.id", "7"}, {"0.cls", "cat"}}, rules) ==
        Found{{"0.jpg", 7}});
  rules.label = "";
  CHECK(found({{"0.jpg", "a"}, {"0.cls", "cat"}, {"1.cls", "x"}}, rules) ==
        Found{{"0.jpg", -1}});
}

TEST_CASE("names that can be read in several ways are refused with a choice") {
  const auto [members, why,
              choice] = GENERATE(table<Members, std::string, std::string>({
      {{{"f.1.jpg", "a"}, {"f.2.jpg", "b"}},
       "two pictures of one key: f.1.jpg and f.2.jpg",
       "key=\"last\""},
      {{{"0.depth.png", "a"}, {"0.jpg", "b"}, {"0.cls", "1"}},
       "two pictures of one key: 0.depth.png and 0.jpg",
       "image=\"ENDING\" (--image ENDING) chooses the picture, such as "
       "\"jpg\""},
      {{{"a.1.jpg", "a"}, {"a.1.cls", "1"}, {"b.2.jpg", "a"}, {"b.2.cls", "2"}},
       "labels of no picture: a.1.cls, b.2.cls; pictures without a label: "
       "a.1.jpg, b.2.jpg",
       "key=\"last\""},
      {{{"a.jpg", "a"}, {"b.cls", "1"}},
       "labels of no picture: b.cls; pictures without a label: a.jpg",
       "label=\"\""},
      {{{"0.jpg", "a"}, {"1.bmp", "b"}, {"2.TIFF", "c"}},
       "1.bmp, 2.TIFF",
       "image="},
  }));
  const auto samples = find(members);
  REQUIRE_FALSE(samples);
  CHECK(samples.error().code == Code::kInvalidArgument);
  CHECK_THAT(samples.error().message, ContainsSubstring(why));
  CHECK_THAT(samples.error().message, ContainsSubstring(choice));
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
      {{{"0.jpg", "a"}, {"1.jpg", "c"}, {"0.jpg", "b"}},
       "at byte 2560: 0.jpg: a second picture of that key"},
      {{{"0.jpg", "a"}, {"0.cls", "1"}, {"0.CLS", "2"}},
       "0.CLS: a second label of that key: the first is 0.cls"},
  }));
  const auto samples = find(members);
  REQUIRE_FALSE(samples);
  CHECK(samples.error().code == Code::kInvalidArgument);
  CHECK_THAT(samples.error().message, ContainsSubstring(why));
}
