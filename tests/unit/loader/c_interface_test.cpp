#include <cerrno>

#include "penstock/loader/loader.h"
#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"

using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

extern "C" uint64_t loader_header_is_c(void);

namespace {

constexpr uint64_t kSecond = 1000000000;

// Six records, whose bytes are their numbers, behind labels of 10 less.
penstock_dataset* six_records(const TempFolder& folder) {
  write_file(folder.path("r"), {10, 0, 9, 1, 8, 2, 7, 3, 6, 4, 5, 5});
  const std::string path = folder.path("r");
  const char* paths[] = {path.c_str()};
  const penstock_records records{2, 1, 0};
  penstock_dataset* dataset = nullptr;
  REQUIRE(penstock_dataset_open(paths, 1, &records, &dataset) == 0);
  return dataset;
}

int next(penstock_loader* loader, penstock_batch& batch) {
  int number = ETIMEDOUT;
  while (number == ETIMEDOUT) {
    number = penstock_loader_next(loader, kSecond, &batch);
  }
  return number;
}

}  // namespace

TEST_CASE("a C program loads an epoch, and goes on with it") {
  const TempFolder folder;
  penstock_dataset* dataset = six_records(folder);
  CHECK(penstock_dataset_size(dataset) == 6);
  CHECK(loader_header_is_c() == UINT64_MAX);
  penstock_loader_options options;
  penstock_loader_defaults(&options);
  options.batch_samples = 4;
  options.total_samples = 6;
  options.shuffle = 0;
  penstock_loader* loader = nullptr;
  REQUIRE(penstock_loader_create(dataset, &options, &loader) == 0);
  CHECK(penstock_loader_samples_per_epoch(loader) == 6);
  penstock_batch batch{};
  REQUIRE(next(loader, batch) == 0);
  REQUIRE(batch.samples == 4);
  CHECK(batch.sample_floats == 1);
  CHECK(batch.data[3] == 3);
  CHECK(batch.labels[3] == 7);
  CHECK(batch.indices[3] == 3);
  CHECK(batch.ends_epoch == 0);
  penstock_loader_release(loader, &batch);
  penstock_loader_state state{};
  penstock_loader_get_state(loader, &state);
  CHECK(state.position == 4);
  CHECK(state.count == 6);
  penstock_loader_destroy(loader);
  options.from = &state;
  options.total_samples = 2;
  REQUIRE(penstock_loader_create(dataset, &options, &loader) == 0);
  penstock_dataset_close(dataset);
  REQUIRE(next(loader, batch) == 0);
  REQUIRE(batch.samples == 2);
  CHECK(batch.indices[0] == 4);
  CHECK(batch.number == 0);
  CHECK(batch.ends_epoch == 1);
  penstock_loader_release(loader, &batch);
  CHECK(next(loader, batch) == ENODATA);
  penstock_loader_counters counters{};
  penstock_loader_get_counters(loader, &counters);
  CHECK(counters.prepared == 2);
  CHECK(counters.bytes == 2);
  CHECK(counters.broken == 0);
  penstock_loader_destroy(loader);
}

TEST_CASE("what fails for C has a number and a message") {
  const TempFolder folder;
  const std::string missing = folder.path("none");
  const char* paths[] = {missing.c_str()};
  penstock_dataset* dataset = nullptr;
  CHECK(penstock_dataset_open(paths, 1, nullptr, &dataset) == ENOENT);
  CHECK_THAT(penstock_loader_error(), ContainsSubstring(missing));
  CHECK(penstock_dataset_open(paths, 0, nullptr, &dataset) == EINVAL);
  CHECK(dataset == nullptr);

  dataset = six_records(folder);
  penstock_loader_options options;
  penstock_loader_defaults(&options);
  penstock_loader* loader = nullptr;
  options.memory_bytes = 1;
  CHECK(penstock_loader_create(dataset, &options, &loader) == ENOMEM);
  options.memory_bytes = 0;
  options.rank = 1;
  CHECK(penstock_loader_create(dataset, &options, &loader) == EINVAL);
  CHECK(loader == nullptr);
  penstock_dataset_close(dataset);
}

TEST_CASE("a dataset of broken samples is EIO for C") {
  const TempFolder folder;
  write_file(folder.path("a.jpg"), {1, 2, 3});
  const char* paths[] = {folder.path().c_str()};
  penstock_dataset* dataset = nullptr;
  REQUIRE(penstock_dataset_open(paths, 1, nullptr, &dataset) == 0);
  penstock_loader_options options;
  penstock_loader_defaults(&options);
  penstock_loader* loader = nullptr;
  REQUIRE(penstock_loader_create(dataset, &options, &loader) == 0);
  penstock_batch batch{};
  CHECK(next(loader, batch) == EIO);
  CHECK_THAT(penstock_loader_error(), ContainsSubstring("are broken"));
  penstock_loader_destroy(loader);
  penstock_dataset_close(dataset);
}
