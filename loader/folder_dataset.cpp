#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "loader/file_reader.h"
#include "loader/picture_names.h"
#include "penstock/loader/dataset.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

struct Picture {
  std::string path;
  int32_t label;
};

class FolderDataset : public Dataset {
 public:
  FolderDataset(std::string folder, std::vector<Picture> pictures)
      : folder_(std::move(folder)), pictures_(std::move(pictures)) {}

  uint64_t size() const override { return pictures_.size(); }
  int64_t label(uint64_t index) const override {
    return pictures_[index].label;
  }
  std::string name(uint64_t index) const override {
    return pictures_[index].path;
  }
  const std::string& path() const override { return folder_; }
  std::unique_ptr<SampleReader> new_reader(ReadMode mode) const override;

 private:
  const std::string folder_;
  const std::vector<Picture> pictures_;  // in byte order
};

class FolderReader : public SampleReader {
 public:
  FolderReader(const FolderDataset& dataset, ReadMode mode)
      : dataset_(dataset), mode_(mode) {}

  Result<uint64_t> open(uint64_t index, SampleSource source) override {
    const bool from_memory = source == SampleSource::kMemory;
    auto size_bytes = reader_.open(dataset_.name(index),
                                   from_memory ? ReadMode::kBuffered : mode_);
    if (size_bytes && source == SampleSource::kStorage) reader_.drop_cached();
    return size_bytes;
  }
  Result<std::span<const uint8_t>> read() override { return reader_.read(); }

 private:
  const FolderDataset& dataset_;
  const ReadMode mode_;
  FileReader reader_;
};

std::unique_ptr<SampleReader> FolderDataset::new_reader(ReadMode mode) const {
  return std::make_unique<FolderReader>(*this, mode);
}

bool is_picture(const fs::directory_entry& entry) {
  std::error_code ignored;  // a dangling link is no file
  return is_picture_name(entry.path().native()) &&
         entry.is_regular_file(ignored);
}

std::error_code add_below(const fs::path& folder, int32_t label,
                          std::vector<Picture>& pictures) {
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  for (; !error && it != fs::recursive_directory_iterator();
       it.increment(error)) {
    if (is_picture(*it)) pictures.push_back({it->path(), label});
  }
  return error;
}

}  // namespace

Result<std::shared_ptr<const Dataset>> open_folder(const std::string& folder) {
  std::vector<Picture> pictures;
  std::vector<fs::path> classes;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored)) {
      classes.push_back(it->path());
    } else if (is_picture(*it)) {
      pictures.push_back({it->path(), kNoLabel});
    }
  }
  std::sort(classes.begin(), classes.end(), [](const auto& a, const auto& b) {
    return a.native() < b.native();
  });
  for (size_t label = 0; !error && label < classes.size(); ++label) {
    error = add_below(classes[label], int32_t(label), pictures);
  }
  if (error) return system_error(error.value(), "cannot read " + folder);
  if (pictures.empty()) {
    return Error{
        Code::kNotFound, 0,
        folder + ": no file whose name ends in " + kPictureEndingsText};
  }
  std::sort(pictures.begin(), pictures.end(),
            [](const Picture& a, const Picture& b) { return a.path < b.path; });
  return std::shared_ptr<const Dataset>(
      std::make_shared<FolderDataset>(folder, std::move(pictures)));
}

}  // namespace penstock
