// Loaders of penstock/loader.h, with checks of their samples.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "penstock/loader.h"
#include "tests/unit/catch.h"

namespace penstock::test {

inline constexpr uint64_t kSecond = 1000000000;
inline constexpr uint64_t kRecords = 100;
inline constexpr uint64_t kRecordBytes = 3;
inline constexpr uint64_t kBatch = 8;
inline constexpr uint64_t kEpochBatches = 13;

// In a tmpfs, with a file of records: a label and the tensor (i, 7).
class Folder {
 public:
  Folder() {
    char name[] = "/dev/shm/penstock-c-sharing-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path_ = name;
    std::ofstream records(file("records"), std::ios::binary);
    for (uint64_t i = 0; i < kRecords; ++i) {
      records << char(100 + i) << char(i) << char(7);
    }
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  // A folder with an invalid picture.
  std::string broken_pictures() const {
    std::filesystem::create_directory(file("pictures"));
    std::ofstream(file("pictures/broken.jpg")) << "no picture";
    return file("pictures");
  }
  // Caches and shares opened later are below this folder.
  void hold_caches(const std::string& node = "caches") const {
    std::filesystem::create_directory(file(node));
    ::setenv("PENSTOCK_CACHE_DIR", file(node).c_str(), 1);
  }

 private:
  std::string path_;
};

struct Options : penstock_loader_options {
  explicit Options(const Folder& folder) : penstock_loader_options{} {
    size = sizeof(penstock_loader_options);
    path = folder.file("records");
    path_text = path.c_str();
    paths = &path_text;
    path_count = 1;
    record_bytes = kRecordBytes;
    record_label_bytes = 1;
    batch_samples = kBatch;
    threads = 1;
  }
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  // Loads pictures instead of the records.
  void take_pictures(const std::string& folder) {
    path = folder;
    path_text = path.c_str();
    record_bytes = record_label_bytes = 0;
  }

  std::string path;
  const char* path_text;
};

struct Close {
  void operator()(penstock_loader* loader) const {
    penstock_loader_close(loader);
  }
};
using Loader = std::unique_ptr<penstock_loader, Close>;

inline Loader opened(const Options& options) {
  penstock_loader* loader = nullptr;
  const int error = penstock_loader_open(&options, &loader);
  INFO(penstock_loader_error());
  REQUIRE(error == 0);
  return Loader(loader);
}

inline void check_refused(const Options& options, int error,
                          const std::string& why) {
  penstock_loader* loader = nullptr;
  CHECK(penstock_loader_open(&options, &loader) == error);
  CHECK(loader == nullptr);
  CHECK_THAT(penstock_loader_error(), Catch::Matchers::ContainsSubstring(why));
}

// Checks and returns the next batch's samples.
inline std::vector<uint64_t> take(const Loader& loader) {
  penstock_loader_batch batch{};
  const int error = penstock_loader_next(loader.get(), 20 * kSecond, &batch);
  INFO(penstock_loader_error());
  REQUIRE(error == 0);
  for (size_t i = 0; i < batch.size; ++i) {
    CHECK(batch.data[2 * i] == float(batch.indices[i]));
    CHECK(batch.labels[i] == int64_t((100 + batch.indices[i]) % 256));
  }
  std::vector<uint64_t> samples(batch.indices, batch.indices + batch.size);
  REQUIRE(penstock_loader_release(loader.get(), &batch) == 0);
  return samples;
}

inline std::multiset<uint64_t> take_epoch(const Loader& loader) {
  std::multiset<uint64_t> samples;
  for (uint64_t i = 0; i < kEpochBatches; ++i) {
    const auto batch = take(loader);
    samples.insert(batch.begin(), batch.end());
  }
  return samples;
}

inline std::multiset<uint64_t> all_samples() {
  std::multiset<uint64_t> samples;
  for (uint64_t i = 0; i < kRecords; ++i) samples.insert(i);
  return samples;
}

inline penstock_loader_counters counters_of(const Loader& loader) {
  penstock_loader_counters counters{};
  REQUIRE(penstock_loader_get_counters(loader.get(), &counters) == 0);
  return counters;
}

}  // namespace penstock::test
