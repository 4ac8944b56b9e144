// Jobs that share the preparation of a small data set, and their samples.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "loader/staging/shared_preparer.h"
#include "tests/unit/catch.h"

namespace penstock::test {

inline constexpr uint64_t kTensorBytes = 40;

inline uint8_t tensor_byte(uint64_t index, uint64_t at) {
  return static_cast<uint8_t>(index * 37 + at * 11 + 5);
}

// A file of that many records; label and tensor follow from the number.
inline std::shared_ptr<const Dataset> write_records(const std::string& path,
                                                    uint64_t samples) {
  {
    std::ofstream file(path, std::ios::binary);
    for (uint64_t i = 0; i < samples; ++i) {
      file.put(static_cast<char>(i));
      for (uint64_t k = 0; k < kTensorBytes; ++k) {
        file.put(static_cast<char>(tensor_byte(i, k)));
      }
    }
  }
  auto dataset = open_records(path, {kTensorBytes + 1, 1, 0});
  REQUIRE(dataset);
  return *dataset;
}

// Whether every sample matches its number.
inline bool is_right(const Batch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    const uint64_t index = batch.indices[i];
    if (batch.labels[i] != int64_t(index)) return false;
    for (uint64_t k = 0; k < kTensorBytes; ++k) {
      const float value = batch.data[i * kTensorBytes + k];
      if (value != float(tensor_byte(index, k))) return false;
    }
  }
  return true;
}

// One line an epoch: the numbers of its samples, in order.
using Epochs = std::vector<std::vector<uint64_t>>;

// Runs a job to its end and records each finished epoch. Returns an error's
// text, or "". step: called with each batch.
inline std::string run_job(
    const std::shared_ptr<const Dataset>& dataset, const SharedOptions& options,
    const std::string& written, const std::function<void()>& step,
    const std::function<void()>& joined = [] {}) {
  auto shared = SharedPreparer::create(dataset, options);
  if (!shared) return shared.error().message;
  joined();
  std::ofstream out(written);
  std::ostringstream line;
  while (!(*shared)->finished()) {
    auto batch = (*shared)->next(1'000'000'000);
    if (!batch) return batch.error().message;
    if (!*batch) continue;
    step();
    if (!is_right(**batch)) return "a batch is torn";
    for (size_t i = 0; i < (*batch)->size; ++i) {
      line << (*batch)->indices[i] << ' ';
    }
    if ((*batch)->ends_epoch) {
      out << line.str() << std::endl;
      line.str("");
    }
    (*shared)->release({});
  }
  return "";
}

inline Epochs read_epochs(const std::string& written) {
  Epochs epochs;
  std::ifstream in(written);
  for (std::string line; std::getline(in, line);) {
    std::istringstream numbers(line);
    epochs.emplace_back();
    for (uint64_t number = 0; numbers >> number;) {
      epochs.back().push_back(number);
    }
  }
  return epochs;
}

// Whether each epoch has each sample once.
inline bool are_whole(Epochs epochs, uint64_t samples) {
  std::vector<uint64_t> all(samples);
  std::iota(all.begin(), all.end(), 0);
  return std::all_of(epochs.begin(), epochs.end(), [&](auto& epoch) {
    std::sort(epoch.begin(), epoch.end());
    return epoch == all;
  });
}

}  // namespace penstock::test
