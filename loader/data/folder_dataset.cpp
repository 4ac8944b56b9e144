#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "loader/data/file_reader.h"
#include "loader/data/fingerprint.h"
#include "loader/data/picture_names.h"
#include "penstock/loader/dataset.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

struct Picture {
  std::string path;
  int32_t label;
};

// Hash of the pictures' paths relative to the folder, which do not depend on
// the mount point, and of the version of each folder that holds pictures.
uint64_t fingerprint_of(const std::string& folder,
                        const std::vector<Picture>& pictures) {
  Fingerprint fingerprint;
  std::string_view last_folder;
  for (const Picture& picture : pictures) {
    const std::string_view path = picture.path;
    const std::string_view holder = path.substr(0, path.rfind('/'));
    struct stat status {};
    if (holder != last_folder &&
        ::stat(std::string(holder).c_str(), &status) == 0) {
      fingerprint.add(FileVersion::of(status));
    }
    last_folder = holder;
    // The folder's name may end in slashes or not.
    const size_t below = path.find_first_not_of('/', folder.size());
    fingerprint.add(path.substr(below));
  }
  return fingerprint.value();
}

class FolderDataset : public Dataset {
 public:
  FolderDataset(std::string folder, std::vector<Picture> pictures)
      : folder_(std::move(folder)),
        pictures_(std::move(pictures)),
        fingerprint_(fingerprint_of(folder_, pictures_)) {}

  uint64_t size() const override { return pictures_.size(); }
  int64_t label(uint64_t index) const override {
    return pictures_[index].label;
  }
  std::string name(uint64_t index) const override {
    return pictures_[index].path;
  }
  const std::string& path() const override { return folder_; }
  uint64_t fingerprint() const override { return fingerprint_; }
  std::unique_ptr<SampleReader> new_reader(ReadMode mode) const override;

 private:
  const std::string folder_;
  const std::vector<Picture> pictures_;  // in byte order
  const uint64_t fingerprint_;
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

// A dangling link is neither file nor folder. Any other unreadable entry is an
// error: to skip it would change the samples, and the labels of the folders
// after it.
void forgive_absent(std::error_code& error) {
  if (error == std::errc::no_such_file_or_directory ||
      error == std::errc::not_a_directory ||
      error == std::errc::too_many_symbolic_link_levels) {
    error.clear();
  }
}

bool is_folder(const fs::directory_entry& entry, std::error_code& error) {
  const bool is = entry.is_directory(error);
  forgive_absent(error);
  return is;
}

bool is_picture(const fs::directory_entry& entry, std::error_code& error) {
  if (!is_picture_name(entry.path().native())) return false;
  const bool is = entry.is_regular_file(error);
  forgive_absent(error);
  return is;
}

Status unreadable(const std::error_code& error, const fs::path& path) {
  return system_error(error.value(), "cannot read " + path.native());
}

Status add_below(const fs::path& folder, int32_t label,
                 std::vector<Picture>& pictures) {
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  while (!error && it != fs::recursive_directory_iterator()) {
    if (is_picture(*it, error)) pictures.push_back({it->path(), label});
    if (error) return unreadable(error, it->path());
    it.increment(error);
  }
  if (error) return unreadable(error, folder);
  return Done{};
}

// Lists the folder itself: pictures, and sub-folders in byte order.
Status look_into(const std::string& folder, std::vector<Picture>& pictures,
                 std::vector<fs::path>& classes) {
  std::error_code error;
  fs::directory_iterator it(folder, error);
  while (!error && it != fs::directory_iterator()) {
    if (is_folder(*it, error)) {
      classes.push_back(it->path());
    } else if (!error && is_picture(*it, error)) {
      pictures.push_back({it->path(), kNoLabel});
    }
    if (error) return unreadable(error, it->path());
    it.increment(error);
  }
  if (error) return unreadable(error, folder);
  std::sort(classes.begin(), classes.end(), [](const auto& a, const auto& b) {
    return a.native() < b.native();
  });
  return Done{};
}

}  // namespace

Result<std::shared_ptr<const Dataset>> open_folder(const std::string& folder) {
  std::vector<Picture> pictures;
  std::vector<fs::path> classes;
  Status looked = look_into(folder, pictures, classes);
  for (size_t label = 0; looked && label < classes.size(); ++label) {
    looked = add_below(classes[label], int32_t(label), pictures);
  }
  if (!looked) return std::move(looked).error();
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
