#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "select_ext/job_submit/table_reader.h"
#include "select_ext/job_submit/table_writer.h"
#include "tests/unit/catch.h"
#include "tests/unit/job_submit/tables.h"
#include "tests/unit/spank_plugin/temp_dir.h"

using namespace penstock;              // NOLINT: the unit under test
using namespace penstock::job_submit;  // NOLINT

namespace {

TableWriter open_writer(const std::string& path) {
  auto writer = TableWriter::open(path);
  if (!writer) FAIL(writer.error().message);
  return std::move(*writer);
}

struct Reading {
  explicit Reading(const std::string& path,
                   std::optional<uid_t> writer = std::nullopt) {
    open_fault = reader.open(path.c_str(), writer);
  }
  ~Reading() { reader.close(); }
  // The millicores of the entry found; -1: nothing, -2: a fault.
  int64_t model(const std::string& name) {
    const LookUp it = reader.model(name, entry);
    fault = it.fault == nullptr ? "" : it.fault;
    if (it.fault != nullptr) return -2;
    return it.found ? static_cast<int64_t>(entry.millicores.value) : -1;
  }
  int64_t job(uint32_t id) {
    JobDemand demand;
    const LookUp it = reader.job(id, demand);
    if (it.fault != nullptr) return -2;
    return it.found ? int64_t{demand.millicores} : -1;
  }
  TableReader reader;
  const char* open_fault = nullptr;
  ModelDemand entry;
  std::string fault;
};

}  // namespace

TEST_CASE("table: published entries are read") {
  TempDir directory;
  TableWriter writer = open_writer(directory.path("t"));
  Reading reading(directory.path("t"));
  REQUIRE(reading.open_fault == nullptr);
  CHECK(reading.model("res50") == -1);
  CHECK(reading.job(4) == -1);

  REQUIRE(writer.publish({model_entry("res50", 3000, 7), model_entry("", 1, 1)},
                         {{9, 1, 1}, {4, 2, 2}}, 17));
  CHECK(reading.model("res50") == 3000);
  CHECK(reading.model("x") == 1);
  CHECK(reading.job(4) == 2);
}

TEST_CASE("table: the file of a daemon is readable by SlurmUser") {
  TempDir directory;
  const mode_t before = ::umask(077);
  { TableWriter writer = open_writer(directory.path("t")); }
  ::umask(before);
  struct stat found {};
  REQUIRE(::stat(directory.path("t").c_str(), &found) == 0);
  CHECK((found.st_mode & 0777) == 0644);
}

TEST_CASE("table: an invalid table is refused and the old one stays") {
  TempDir directory;
  TableWriter writer = open_writer(directory.path("t"));
  REQUIRE(writer.publish({model_entry("res50", 3000, 7)}, {}, 1));
  const ModelDemand entry = model_entry("a", 1, 1);
  CHECK_FALSE(writer.publish({entry, entry}, {}, 2));
  CHECK_FALSE(writer.publish({}, {{1, 1, 1}, {1, 2, 2}}, 2));
  CHECK_FALSE(writer.publish({model_entry("a", kMaxMillicores + 1, 1)}, {}, 2));
  const auto many = writer.publish({}, std::vector<JobDemand>(kMaxJobs + 1), 2);
  REQUIRE_FALSE(many);
  CHECK(many.error().code == Code::kLimit);
  Reading reading(directory.path("t"));
  CHECK(reading.model("res50") == 3000);
  CHECK(reading.model("a") == -1);
}

TEST_CASE("table: a new writer keeps the entries of the last one") {
  TempDir directory;
  const std::string path = directory.path("t");
  {
    TableWriter writer = open_writer(path);
    REQUIRE(writer.publish({model_entry("res50", 3000, 7)}, {}, 1));
    const auto second = TableWriter::open(path);
    REQUIRE_FALSE(second);
    CHECK(second.error().code == Code::kUnavailable);
  }
  TableWriter again = open_writer(path);
  Reading reading(path);
  CHECK(reading.model("res50") == 3000);
}

TEST_CASE("table: writers refuse directories and files that others may write") {
  TempDir directory;
  const std::string path = directory.path("t");
  CHECK(TableWriter::open(directory.path("none/t")).error().code ==
        Code::kNotFound);
  REQUIRE(::mkdir(path.c_str(), 0755) == 0);
  CHECK_FALSE(TableWriter::open(path));
  REQUIRE(::rmdir(path.c_str()) == 0);
  std::ofstream(path) << "x";
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  CHECK(TableWriter::open(path).error().code == Code::kPermissionDenied);
}

TEST_CASE("table: readers refuse missing, unsafe and truncated files") {
  TempDir directory;
  const std::string path = directory.path("t");
  const auto fault = [&] { return std::string(Reading(path).open_fault); };
  CHECK(fault() == "cannot be opened");
  { TableWriter writer = open_writer(path); }
  REQUIRE(::chmod(path.c_str(), 0664) == 0);
  CHECK(fault() == "writable by its group or by others");
  REQUIRE(::chmod(path.c_str(), 0644) == 0);
  REQUIRE(::truncate(path.c_str(), 100) == 0);
  CHECK(fault() == "not of a demand table's size");
  if (::geteuid() == 0) {
    { TableWriter writer = open_writer(path); }
    REQUIRE(::chown(path.c_str(), 12345, 0) == 0);
    CHECK(fault() == "its owner is none of root, SlurmUser and ControllerUser");
    CHECK(Reading(path, 12346).open_fault != nullptr);
    CHECK(Reading(path, 12345).open_fault == nullptr);
  }
}

TEST_CASE("table: a file truncated while it is open is a fault, not a signal") {
  TempDir directory;
  const std::string path = directory.path("t");
  TableWriter writer = open_writer(path);
  Reading reading(path);
  CHECK(reading.model("res50") == -1);
  REQUIRE(::truncate(path.c_str(), 0) == 0);
  CHECK(reading.model("res50") == -2);
  CHECK(reading.fault == "cut short");
}

TEST_CASE("table: an unfinished write is a fault until the next write") {
  TempDir directory;
  const std::string path = directory.path("t");
  {
    TableWriter writer = open_writer(path);
    REQUIRE(writer.publish({model_entry("res50", 3000, 7)}, {}, 1));
  }
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offsetof(TableHeader, sequence));
  const uint32_t odd = 7;
  file.write(reinterpret_cast<const char*>(&odd), sizeof odd);
  file.close();
  Reading reading(path);
  CHECK(reading.model("res50") == -2);
  CHECK(reading.fault == "being written all the time");
  TableWriter writer = open_writer(path);
  REQUIRE(writer.publish({model_entry("res50", 4000, 7)}, {}, 2));
  CHECK(reading.model("res50") == 4000);
}

TEST_CASE("table: readers never see half a write") {
  TempDir directory;
  const std::string path = directory.path("t");
  TableWriter writer = open_writer(path);
  std::atomic<bool> stop = false;
  std::thread writing([&] {
    for (uint64_t i = 1; !stop; ++i) {
      std::vector<ModelDemand> models;
      for (int m = 0; m < 100; ++m)
        models.push_back(
            model_entry("model" + std::to_string(1000 + m), i % 4000000, i));
      if (!writer.publish(models, {}, i)) break;
    }
  });
  Reading reading(path);
  std::atomic<int> good = 0, torn = 0;
  const auto read = [&] {
    for (int i = 0; i < 20000; ++i) {
      ModelDemand entry;
      if (!reading.reader.model("model1050", entry).found) continue;
      ++good;
      // All fields of all entries have the number of the write.
      if (entry.bytes_per_s.value % 4000000 != entry.millicores.value) ++torn;
    }
  };
  // slurmctld's threads share the reader.
  std::thread other(read);
  read();
  other.join();
  stop = true;
  writing.join();
  CHECK(torn == 0);
  CHECK(good > 100);
}

TEST_CASE("table: entries are made from predictions") {
  Prediction prediction;
  prediction.demand_cores = {3.2, 2.4, 4};
  prediction.demand_bytes_per_s = {};
  prediction.ceiling_samples_per_s = {700, 525, 875};
  const auto entry = model_demand("res50", prediction);
  REQUIRE(entry);
  CHECK(model_name(*entry) == "res50");
  CHECK(entry->millicores.value == 3200);
  CHECK(entry->millicores.high == 4000);
  CHECK_FALSE(entry->bytes_per_s.known());
  CHECK(entry->ceiling_milli_samples_per_s.low == 525000);

  prediction.demand_cores = {5000, 1, 6000};
  CHECK_FALSE(model_demand("big", prediction)->millicores.known());
  prediction.demand_cores = {-1, -1, 1};
  CHECK_FALSE(model_demand("odd", prediction)->millicores.known());
  CHECK_FALSE(model_demand(std::string(65, 'x'), prediction));
  CHECK_FALSE(model_demand("a\nb", prediction));
}
