// Jobs that a share refuses, with their errors.
#include "loader/staging/shared_preparer.h"
#include "tests/unit/loader/pictures.h"
#include "tests/unit/loader_cache/cache_case.h"
#include "tests/unit/loader_staging/share_case.h"
#include "tests/unit/loader_staging/sharing.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("options outside their range are refused") {
  const CacheCase cache;
  const TempFolder folder;
  const auto dataset = write_records(folder.path("records"), 5);
  const auto refused = [&](const char* why, const auto& change) {
    SharedOptions options = small_options(1);
    change(options);
    const auto shared = SharedPreparer::create(dataset, options);
    REQUIRE_FALSE(shared);
    CHECK(shared.error().code == Code::kInvalidArgument);
    CHECK_THAT(shared.error().message, ContainsSubstring(why));
  };
  using O = SharedOptions;
  refused("batch", [](O& options) { options.batch_samples = 0; });
  refused("batch", [](O& options) { options.batch_samples = 65537; });
  refused("crop", [](O& options) { options.crop_side = 0; });
  refused("crop", [](O& options) { options.crop_side = 4097; });
  refused("threads",
          [](O& options) { options.threads = options.threads_max = 0; });
  refused("threads",
          [](O& options) { options.threads = options.threads_max = 4097; });
  refused("epochs", [](O& options) { options.epochs = UINT64_MAX; });
  refused("jobs", [](O& options) { options.jobs = 0; });
  refused("jobs", [](O& options) { options.jobs = 65; });
  refused("window", [](O& options) { options.window_batches = 1; });
  refused("window", [](O& options) { options.window_batches = 513; });
  refused("spare", [](O& options) { options.spare_batches = 0; });
  refused("spare", [](O& options) { options.spare_batches = 513; });
  refused("share name", [](O& options) { options.name = "a/b"; });
}

TEST_CASE("the error for two searches of one name names their difference") {
  const CacheCase cache;
  const TempFolder folder;
  const auto dataset = write_records(folder.path("records"), 5);
  const auto shared = make(dataset, small_options(1));
  SharedOptions options = small_options(1);
  options.seed = 8;
  const auto other = SharedPreparer::create(dataset, options);
  REQUIRE_FALSE(other);
  CHECK_THAT(other.error().message,
             ContainsSubstring("seed 7") && ContainsSubstring("seed 8"));
  const auto more = write_records(folder.path("more"), 6);
  const auto another = SharedPreparer::create(more, small_options(1));
  REQUIRE_FALSE(another);
  CHECK_THAT(another.error().message,
             ContainsSubstring(folder.path("records")) &&
                 ContainsSubstring(folder.path("more")));
}

TEST_CASE("a share accepts kStageConsumers jobs and refuses another") {
  const CacheCase cache;
  const TempFolder folder;
  const auto dataset = write_records(folder.path("records"), 5);
  SharedOptions options = small_options(1);
  options.threads = options.threads_max = 1;
  std::vector<std::unique_ptr<SharedPreparer>> jobs;
  for (uint32_t i = 0; i < kStageConsumers; ++i) {
    jobs.push_back(make(dataset, options));
  }
  const auto more = SharedPreparer::create(dataset, options);
  REQUIRE_FALSE(more);
  CHECK(more.error().code == Code::kLimit);
  CHECK_THAT(more.error().message, ContainsSubstring("64 jobs"));
  jobs.pop_back();
  CHECK(SharedPreparer::create(dataset, options));
}
