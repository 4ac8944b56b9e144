#include "common/node_list.h"

#include "tests/unit/catch.h"

using namespace penstock;
using Catch::Matchers::ContainsSubstring;

namespace {

using Names = std::vector<std::string>;

Names names(std::string_view text) {
  auto nodes = expand_node_list(text);
  if (!nodes) FAIL(nodes.error().message);
  return *nodes;
}

}  // namespace

TEST_CASE("node lists expand to names") {
  CHECK(names("one") == Names{"one"});
  CHECK(names("one,two.example") == Names{"one", "two.example"});
  CHECK(names("a[1-3]") == Names{"a1", "a2", "a3"});
  CHECK(names("a[1-2,7],b") == Names{"a1", "a2", "a7", "b"});
  CHECK(names("[1-2]") == Names{"1", "2"});
  CHECK(names("a[1-2]-x") == Names{"a1-x", "a2-x"});
  CHECK(names("127.0.0.[2-3]") == Names{"127.0.0.2", "127.0.0.3"});
}

TEST_CASE("numbers keep the width of their notation") {
  CHECK(names("a[08-11]") == Names{"a08", "a09", "a10", "a11"});
  CHECK(names("a[007,8]") == Names{"a007", "a8"});
  CHECK(names("a[98-101]") == Names{"a98", "a99", "a100", "a101"});
}

TEST_CASE("several brackets of a name give all combinations") {
  CHECK(names("r[1-2]n[3-4]") == Names{"r1n3", "r1n4", "r2n3", "r2n4"});
}

TEST_CASE("invalid node lists are refused") {
  for (const char* text :
       {"", ",", "a,", ",a", "a[", "a[]", "a]", "a[1", "a[1-]", "a[-1]",
        "a[2-1]", "a[1,]", "a[x]", "a[1-2-3]", "a[[1]]", "a[1234567890]",
        "a[ 1]", "a[+1]"}) {
    INFO(text);
    const auto nodes = expand_node_list(text);
    REQUIRE_FALSE(nodes);
    CHECK(nodes.error().code == Code::kInvalidArgument);
    CHECK_THAT(nodes.error().message, ContainsSubstring("node list"));
  }
}

TEST_CASE("a node list of too many nodes is refused") {
  CHECK(names("a[1-65536]").size() == 65536);
  for (const char* text :
       {"a[1-65537]", "a[1-999999999]", "a[1-300]b[1-300]", "a[1-65536],b",
        "a[1-9999]b[1-9999]c[1-9999]", "a[1-40000,1-40000]"}) {
    INFO(text);
    const auto nodes = expand_node_list(text);
    REQUIRE_FALSE(nodes);
    CHECK(nodes.error().code == Code::kLimit);
  }
}
