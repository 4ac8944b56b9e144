#include "select_ext/job_submit/demand_table.h"

#include <functional>

#include "tests/unit/catch.h"
#include "tests/unit/job_submit/tables.h"

using namespace penstock::job_submit;  // NOLINT: the unit under test

namespace {

// The millicores of the entry found, or -1.
int64_t found_model(const TableImage& image, std::string_view model) {
  ModelDemand entry;
  const LookUp it = find_model(image.header, model, reads(image), entry);
  CHECK(it.fault == nullptr);
  return it.found ? static_cast<int64_t>(entry.millicores.value) : -1;
}

int64_t found_job(const TableImage& image, uint32_t job_id) {
  JobDemand job;
  const LookUp it = find_job(image.header, job_id, reads(image), job);
  CHECK(it.fault == nullptr);
  return it.found ? int64_t{job.millicores} : -1;
}

}  // namespace

TEST_CASE("demand_table: a valid table has no fault") {
  CHECK(table_fault(*good_table()) == nullptr);
}

TEST_CASE("demand_table: models are found by their whole name") {
  const auto image = good_table();
  CHECK(found_model(*image, "res50") == 3000);
  CHECK(found_model(*image, "alexnet") == 6000);
  for (const char* other : {"", "res5", "res500", "zzz", "/home/me/p.toml"})
    CHECK(found_model(*image, other) == 2000);
}

TEST_CASE(
    "demand_table: without a nameless entry, unknown models are not found") {
  const auto image = good_table();
  image->models[0] = image->models[1];
  image->models[1] = image->models[2];
  image->header.model_count = 2;
  REQUIRE(table_fault(*image) == nullptr);
  CHECK(found_model(*image, "zzz") == -1);
  CHECK(found_model(*image, "") == -1);
  CHECK(found_model(*image, "res50") == 3000);
  image->header.model_count = 0;
  CHECK(found_model(*image, "res50") == -1);
}

TEST_CASE("demand_table: a name that fills its field is found") {
  const auto image = good_table();
  const std::string name(64, 'z');
  image->models[2] = model_entry(name, 1000, 0);
  REQUIRE(table_fault(*image) == nullptr);
  CHECK(found_model(*image, name) == 1000);
}

TEST_CASE("demand_table: every entry of a table of any size is found") {
  const auto image = good_table();
  const auto count = GENERATE(1u, 2u, 3u, 100u, kMaxModels);
  for (uint32_t i = 0; i < count; ++i) {
    image->models[i] = model_entry("m" + std::to_string(1000 + i), i, 0);
    image->jobs[i] = {2 * i + 1, i, 0};
  }
  image->header.model_count = image->header.job_count = count;
  REQUIRE(table_fault(*image) == nullptr);
  for (uint32_t i = 0; i < count; ++i) {
    CHECK(found_model(*image, "m" + std::to_string(1000 + i)) == i);
    CHECK(found_job(*image, 2 * i + 1) == i);
    CHECK(found_job(*image, 2 * i) == -1);
  }
}

TEST_CASE("demand_table: jobs are found by their id") {
  const auto image = good_table();
  CHECK(found_job(*image, 7) == 1500);
  CHECK(found_job(*image, 9) == 2500);
  for (uint32_t other : {0u, 8u, 10u}) CHECK(found_job(*image, other) == -1);
}

TEST_CASE("demand_table: a damaged entry is a fault when it is looked up") {
  const auto image = good_table();
  image->models[2].millicores.low = 3001;
  image->models[0].bytes_per_s.high = 0;
  image->jobs[1].millicores = kMaxMillicores + 1;
  ModelDemand entry;
  JobDemand job;
  for (const char* name : {"res50", "zzz"}) {
    const LookUp it = find_model(image->header, name, reads(*image), entry);
    CHECK_FALSE(it.found);
    CHECK(it.fault != nullptr);
  }
  CHECK(found_model(*image, "alexnet") == 6000);
  CHECK(find_job(image->header, 9, reads(*image), job).fault != nullptr);
  CHECK(found_job(*image, 7) == 1500);
}

TEST_CASE("demand_table: an unreadable table is a fault") {
  const auto image = good_table();
  const auto nothing = [](size_t, void*, size_t) { return false; };
  ModelDemand entry;
  JobDemand job;
  CHECK(std::string(find_model(image->header, "res50", nothing, entry).fault) ==
        "cut short");
  CHECK(std::string(find_job(image->header, 7, nothing, job).fault) ==
        "cut short");
}

TEST_CASE("demand_table: every damaged field is a fault") {
  using Damage = std::function<void(TableImage&)>;
  const Damage damage = GENERATE(values<Damage>({
      [](TableImage& it) { it.header.magic ^= 1; },
      [](TableImage& it) { it.header.version = 2; },
      [](TableImage& it) { it.header.size_bytes -= 8; },
      [](TableImage& it) { it.header.reserved = 1; },
      [](TableImage& it) { it.header.model_count = kMaxModels + 1; },
      [](TableImage& it) { it.header.job_count = kMaxJobs + 1; },
      [](TableImage& it) { it.models[1].model[0] = '\x01'; },
      [](TableImage& it) { it.models[1].model[63] = 'x'; },
      [](TableImage& it) { it.models[1].model[0] = 's'; },
      [](TableImage& it) { it.models[2] = it.models[1]; },
      [](TableImage& it) { it.models[1].millicores.low = 6001; },
      [](TableImage& it) { it.models[1].millicores.high = 5999; },
      [](TableImage& it) {
        it.models[1].millicores = {kMaxMillicores + 1, 0, kMaxMillicores + 1};
      },
      [](TableImage& it) {
        it.models[1].bytes_per_s = {kMaxBytesPerS + 1, 0, kMaxBytesPerS + 1};
      },
      [](TableImage& it) {
        it.models[1].ceiling_milli_samples_per_s = {kMaxMilliSamplesPerS + 1, 0,
                                                    kMaxMilliSamplesPerS + 1};
      },
      [](TableImage& it) { it.models[1].millicores.high = Range::kUnknown; },
  }));
  const auto image = good_table();
  damage(*image);
  CHECK(table_fault(*image) != nullptr);
}

TEST_CASE("demand_table: every damaged job is a fault") {
  using Damage = std::function<void(TableImage&)>;
  const Damage damage = GENERATE(values<Damage>({
      [](TableImage& it) { it.jobs[0].millicores = kMaxMillicores + 1; },
      [](TableImage& it) { it.jobs[1].bytes_per_s = kMaxBytesPerS + 1; },
      [](TableImage& it) { it.jobs[1].job_id = 7; },
      [](TableImage& it) { it.jobs[0].job_id = 10; },
  }));
  const auto image = good_table();
  damage(*image);
  CHECK(table_fault(*image) != nullptr);
}

TEST_CASE("demand_table: unused entries are not checked") {
  const auto image = good_table();
  image->models[3].millicores = {1, 2, 0};
  image->jobs[2] = {1, kMaxMillicores + 1, 0};
  CHECK(table_fault(*image) == nullptr);
}
