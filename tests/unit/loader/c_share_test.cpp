// Shares of penstock/loader.h.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "tests/unit/loader/c_loader.h"

using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

penstock_loader_shared shared_of(const Loader& loader) {
  penstock_loader_shared shared{};
  shared.size = sizeof shared;
  REQUIRE(penstock_loader_get_shared(loader.get(), &shared) == 0);
  return shared;
}

}  // namespace

TEST_CASE("jobs of a share get the same batches, each prepared once") {
  const Folder folder;
  folder.hold_caches();
  Options options(folder);
  options.share = "c";
  options.share_jobs = 2;
  const Loader first = opened(options), second = opened(options);
  std::multiset<uint64_t> samples;
  for (uint64_t i = 0; i < 2 * kEpochBatches; ++i) {
    const auto batch = take(first);
    CHECK(take(second) == batch);
    samples.insert(batch.begin(), batch.end());
  }
  for (uint64_t i = 0; i < kRecords; ++i) CHECK(samples.count(i) == 2);
  const uint64_t prepared =
      counters_of(first).prepared + counters_of(second).prepared;
  CHECK(prepared >= 2 * kRecords);
  CHECK(prepared <=
        2 * kRecords + 8 * kBatch);  // including samples of the next epoch
  for (const Loader* loader : {&first, &second}) {
    const auto shared = shared_of(*loader);
    CHECK(shared.epoch == 2);
    CHECK(shared.used_batches == 2 * kEpochBatches);
    CHECK(shared.lost_claims + shared.times_out + shared.alone_batches == 0);
  }
  CHECK(penstock_loader_check_pinned(first.get()) == 0);
}

TEST_CASE("one batch of a share is in use at a time") {
  const Folder folder;
  folder.hold_caches();
  Options options(folder);
  options.share = "c";
  const Loader loader = opened(options);
  penstock_loader_batch batch{}, other{};
  do {
    REQUIRE(penstock_loader_next(loader.get(), 20 * kSecond, &batch) == 0);
    if (!batch.ends_epoch) {
      REQUIRE(penstock_loader_release(loader.get(), &batch) == 0);
    }
  } while (!batch.ends_epoch);
  CHECK(penstock_loader_next(loader.get(), kSecond / 100, &other) == EDEADLK);
  CHECK_THAT(penstock_loader_error(),
             ContainsSubstring("one batch of a share"));
  CHECK(shared_of(loader).epoch == 0);
  REQUIRE(penstock_loader_release(loader.get(), &batch) == 0);
  CHECK(shared_of(loader).epoch == 1);
  CHECK(take(loader).size() == kBatch);
}

TEST_CASE("joining a share with other options is refused") {
  const Folder folder;
  folder.hold_caches();
  Options options(folder);
  options.share = "c";
  const Loader loader = opened(options);
  options.seed = 5;
  check_refused(options, EINVAL, "seed 5");
  options.seed = 0;
  options.batch_samples = 9;
  check_refused(options, EINVAL, "batches of 9");
}

TEST_CASE("invalid values of a share's options are refused") {
  const Folder folder;
  folder.hold_caches();
  const penstock_loader_state state{};
  const auto check = [&](auto change, const std::string& why) {
    Options options(folder);
    options.share = "c";
    change(options);
    check_refused(options, EINVAL, why);
  };
  check([](auto& o) { o.share = ""; }, "letters");
  check([](auto& o) { o.share = "a/b"; }, "letters");
  check([](auto& o) { o.share_jobs = 65; }, "1 to 64");
  check([](auto& o) { o.share_window = 1; }, "2 to 512");
  check([](auto& o) { o.share_window = UINT64_MAX; }, "2 to 512");
  check([](auto& o) { o.ranks = 2; }, "ranks and rank: a share has none");
  check([](auto& o) { o.rank = 1; }, "ranks and rank: a share has none");
  check([](auto& o) { o.drop_tail = 1; }, "drop_tail: a share has none");
  check([](auto& o) { o.unordered = 1; }, "unordered: a share has none");
  check([](auto& o) { o.pinned = 1; }, "pinned: a share has none");
  check([](auto& o) { o.ring_batches = 4; }, "ring_batches: a share has none");
  check([](auto& o) { o.memory_bytes = 1 << 30; },
        "memory_bytes: a share has none");
  check([&](auto& o) { o.from = &state; }, "from: a share has none");
}

TEST_CASE("without a share its options have no effect") {
  const Folder folder;
  Options options(folder);
  options.share_jobs = 2;
  options.share_window = 1;
  const Loader loader = opened(options);
  CHECK(take_epoch(loader) == all_samples());
  penstock_loader_shared shared{};
  shared.size = sizeof shared;
  CHECK(penstock_loader_get_shared(loader.get(), &shared) == ENOTSUP);
  CHECK_THAT(penstock_loader_error(), ContainsSubstring("of no share"));
}

TEST_CASE("a share without memory or without a private folder is an error") {
  const Folder folder;
  folder.hold_caches();
  const std::string pictures = folder.broken_pictures();
  Options options(folder);
  options.take_pictures(pictures);
  options.share = "c";
  options.crop_side = 4096;
  options.batch_samples = 65536;
  penstock_loader* loader = nullptr;
  const int error = penstock_loader_open(&options, &loader);
  INFO(penstock_loader_error());
  CHECK((error == ENOMEM || error == ENOSPC));

  const std::string taken =
      folder.file("caches/penstock-cache-" + std::to_string(::geteuid()));
  std::filesystem::remove_all(taken);
  std::filesystem::create_directory(taken);
  std::filesystem::permissions(taken, std::filesystem::perms{0755});
  Options others(folder);
  others.share = "c";
  check_refused(others, EACCES, "mode 0700");
}

TEST_CASE("a share accepts 64 jobs and refuses the 65th") {
  const Folder folder;
  folder.hold_caches();
  Options options(folder);
  options.share = "c";
  options.share_jobs = 64;
  std::vector<Loader> jobs;
  jobs.reserve(64);
  jobs.reserve(64);
  for (int i = 0; i < 64; ++i) jobs.push_back(opened(options));
  check_refused(options, ENOMEM, "64 jobs share it already");
  jobs.pop_back();
  jobs.push_back(opened(options));
}

TEST_CASE("a share skips broken samples, or fails if they are fatal") {
  const Folder folder;
  folder.hold_caches();
  const std::string pictures = folder.broken_pictures();
  Options options(folder);
  options.take_pictures(pictures);
  options.crop_side = 8;
  options.share = "c";
  penstock_loader_batch batch{};
  {
    const Loader loader = opened(options);
    REQUIRE(penstock_loader_next(loader.get(), 20 * kSecond, &batch) == 0);
    CHECK(batch.size == 0);
    CHECK(batch.ends_epoch == 1);
  }
  options.broken_fatal = 1;
  const Loader loader = opened(options);
  for (int i = 0; i < 2; ++i) {
    CHECK(penstock_loader_next(loader.get(), 20 * kSecond, &batch) == EIO);
    CHECK_THAT(penstock_loader_error(), ContainsSubstring("broken.jpg"));
  }
}

TEST_CASE("a share's loader refuses unsupported calls") {
  const Folder folder;
  folder.hold_caches();
  Options options(folder);
  options.share = "c";
  const Loader loader = opened(options);
  penstock_loader_state state{};
  CHECK(penstock_loader_get_state(loader.get(), &state) == ENOTSUP);
  CHECK_THAT(penstock_loader_error(), ContainsSubstring("no state"));
  penstock_loader_shared shared{};
  CHECK(penstock_loader_get_shared(loader.get(), nullptr) == EINVAL);
  CHECK(penstock_loader_get_shared(nullptr, &shared) == EINVAL);
  CHECK(penstock_loader_get_shared(loader.get(), &shared) == EINVAL);
  CHECK_THAT(penstock_loader_error(), ContainsSubstring("size"));
  const pid_t child = ::fork();
  if (child == 0) {
    shared.size = sizeof shared;
    const int error = penstock_loader_get_shared(loader.get(), &shared);
    ::_exit(error == ECHILD ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
