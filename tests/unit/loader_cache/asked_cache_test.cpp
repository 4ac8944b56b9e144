// A job gets its requested cache, or runs without one.
#include "loader/api/asked_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/unit/loader/pictures.h"
#include "tests/unit/loader_cache/cache_case.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const SampleCacheOptions kWanted{.name = "n", .most_bytes = 1 << 20};

struct AskedCase : CacheCase {
  TempFolder folder;
  std::shared_ptr<const Dataset> dataset;

  AskedCase() {
    write_jpegs(folder, 3);
    auto opened = open_folder(folder.path());
    REQUIRE(opened);
    dataset = *opened;
  }
  // Makes the folder unusable, as if it belonged to another user.
  void take_the_folder() const {
    const std::string path =
        base() + "/penstock-cache-" + std::to_string(::geteuid());
    REQUIRE(::mkdir(path.c_str(), 0755) == 0);
    REQUIRE(::chmod(path.c_str(), 0755) == 0);
  }
};

}  // namespace

TEST_CASE("a requested cache is placed in front of the data set") {
  const AskedCase test;
  AskedCache asked;
  const auto found = asked.put_before(test.dataset, kWanted);
  REQUIRE(found);
  CHECK(*found != test.dataset);
  CHECK_FALSE(asked.trouble());
}

TEST_CASE("without the requested cache the data set is used directly") {
  const AskedCase test;
  test.take_the_folder();
  AskedCache asked;
  const auto found = asked.put_before(test.dataset, kWanted);
  REQUIRE(found);
  CHECK(*found == test.dataset);
  REQUIRE(asked.trouble());
  CHECK(asked.trouble()->code == Code::kPermissionDenied);
  CHECK_THAT(asked.trouble()->message, ContainsSubstring("without a cache: ") &&
                                           ContainsSubstring("mode 0700"));
  int told = 0;
  const auto again = with_asked_cache(test.dataset, kWanted,
                                      [&told](const Error&) { ++told; });
  REQUIRE(again);
  CHECK(*again == test.dataset);
  CHECK(told == 1);
}

TEST_CASE("outside a job the cache has no peers, which is reported") {
  const AskedCase test;
  for (const char* name :
       {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURMD_NODENAME"}) {
    ::unsetenv(name);
  }
  AskedCache asked;
  const auto found = asked.put_before(test.dataset, kWanted, "auto");
  REQUIRE(found);
  CHECK(*found != test.dataset);
  REQUIRE(asked.trouble());
  CHECK(asked.trouble()->code == Code::kNotFound);
  CHECK_THAT(asked.trouble()->message,
             ContainsSubstring("without other nodes' caches: no SLURM_JOB"));
}

TEST_CASE("a job of one node has no peers, which is not an error") {
  const AskedCase test;
  ::setenv("SLURMD_NODENAME", "n1", 1);
  AskedCache asked;
  CHECK(asked.put_before(test.dataset, kWanted, "n1"));
  CHECK_FALSE(asked.trouble());
}

TEST_CASE("invalid lists of the cache's nodes are an error") {
  const AskedCase test;
  ::setenv("SLURMD_NODENAME", "n1", 1);
  const auto check = [&](const char* nodes, const char* why) {
    AskedCache asked;
    const auto refused = asked.put_before(test.dataset, kWanted, nodes);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::kInvalidArgument);
    CHECK_THAT(refused.error().message, ContainsSubstring(why));
  };
  check("n[1-", "a [ without its ]");
  check("n[2-3]", "\"n1\", is none of the cache's 2 nodes");
  check("n2", "\"n1\", is none of the cache's 1 nodes");
  check("n1,n1", "comes twice");
}

TEST_CASE("an invalid option is an error instead of a run without a cache") {
  const AskedCase test;
  AskedCache asked;
  const auto refused =
      asked.put_before(test.dataset, {.name = "a/b", .most_bytes = 1 << 20});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kInvalidArgument);
  CHECK_FALSE(asked.trouble());
}
