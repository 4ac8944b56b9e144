// Datasets whose samples are parts of larger files, and their reader.
#pragma once

#include <string>

#include "loader/data/file_reader.h"
#include "penstock/loader/dataset.h"

namespace penstock {

class PartDataset : public Dataset {
 public:
  // Where sample `index` is. REQUIRES: index < size().
  virtual FileReader::Part part_of(uint64_t index) const = 0;
  virtual const std::string& file_of(uint64_t /*index*/) const {
    return path();
  }
  // Whether everything read so far is of the opened state, for files whose
  // FileVersion does not show it.
  virtual Status check_unchanged() const { return Done{}; }

  std::unique_ptr<SampleReader> new_reader(ReadMode mode) const override;
};

class PartReader : public SampleReader {
 public:
  PartReader(const PartDataset& dataset, ReadMode mode)
      : dataset_(dataset), mode_(mode) {}

  Result<uint64_t> open(uint64_t index, SampleSource source) override;
  Result<std::span<const uint8_t>> read() override;

 private:
  Error named(Error error) const;

  const PartDataset& dataset_;
  const ReadMode mode_;
  uint64_t index_ = 0;
  FileReader reader_;
};

}  // namespace penstock
