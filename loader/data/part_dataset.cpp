#include "loader/data/part_dataset.h"

namespace penstock {

std::unique_ptr<SampleReader> PartDataset::new_reader(ReadMode mode) const {
  return std::make_unique<PartReader>(*this, mode);
}

// Names the sample instead of its file, with which a reader's error begins.
Error PartReader::named(Error error) const {
  const std::string& file = dataset_.file_of(index_);
  if (error.message.starts_with(file)) {
    error.message.replace(0, file.size(), dataset_.name(index_));
  }
  return error;
}

Result<uint64_t> PartReader::open(uint64_t index, SampleSource source) {
  const bool from_memory = source == SampleSource::kMemory;
  auto bytes = reader_.open_part(dataset_.file_of(index),
                                 from_memory ? ReadMode::kBuffered : mode_,
                                 dataset_.part_of(index));
  index_ = index;
  if (!bytes) {
    Status same = dataset_.check_unchanged();
    return named(same ? std::move(bytes).error() : std::move(same).error());
  }
  if (source == SampleSource::kStorage) reader_.drop_cached();
  return bytes;
}

Result<std::span<const uint8_t>> PartReader::read() {
  auto bytes = reader_.read();
  // Checked after the read, to detect changes during it.
  if (Status same = dataset_.check_unchanged(); !same) {
    return named(std::move(same).error());
  }
  if (!bytes) return named(std::move(bytes).error());
  return bytes;
}

}  // namespace penstock
