#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include "loader/data/file_reader.h"
#include "loader/data/fingerprint.h"
#include "loader/data/picture_names.h"
#include "loader/data/sample_rules.h"
#include "penstock/loader/dataset.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

struct Picture {
  std::string path;
  int32_t label;
  bool is_linked = false;  // it, or a folder that holds it, is a link
};

// The path relative to the folder, whose name may end in slashes or not.
std::string_view below(std::string_view path, std::string_view folder) {
  const size_t begin = path.find_first_not_of('/', folder.size());
  return begin == path.npos ? path : path.substr(begin);
}

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
    fingerprint.add(below(path, folder));
  }
  return fingerprint.value();
}

class FolderDataset : public Dataset {
 public:
  FolderDataset(std::string folder, std::vector<Picture> pictures,
                DatasetFacts facts)
      : folder_(std::move(folder)),
        pictures_(std::move(pictures)),
        facts_(std::move(facts)),
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
  DatasetFacts facts() const override { return facts_; }
  std::unique_ptr<SampleReader> new_reader(ReadMode mode) const override;

 private:
  const std::string folder_;
  const std::vector<Picture> pictures_;  // in byte order
  const DatasetFacts facts_;
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

Status unreadable(const std::error_code& error, const fs::path& path) {
  return system_error(error.value(), "cannot read " + path.native());
}

// Device and inode.
using Identity = std::pair<uint64_t, uint64_t>;

std::optional<Identity> identity_of(const fs::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return Identity{found.st_dev, found.st_ino};
}

// Lists a folder and those below it.
class FolderWalk {
 public:
  FolderWalk(const SampleRules& rules, std::string folder)
      : rules_(rules), folder_(std::move(folder)) {
    if (const auto own = identity_of(folder_)) above_.push_back(*own);
  }

  // classes: if given, gets the sub-folders instead of their pictures.
  Status add(const fs::path& folder, int32_t label,
             std::vector<fs::path>* classes = nullptr) {
    const std::optional<Identity> own = identity_of(folder);
    if (own) above_.push_back(*own);
    std::error_code error;
    fs::directory_iterator it(folder, error);
    Status done = Done{};
    while (done && !error && it != fs::directory_iterator()) {
      done = add_entry(*it, label, classes);
      if (done) it.increment(error);
    }
    if (own) above_.pop_back();
    if (done && error) return unreadable(error, folder);
    return done;
  }

  Status add_class(const fs::path& folder, int32_t label) {
    std::error_code ignored;
    links_ = fs::is_symlink(folder, ignored) ? 1 : 0;
    return add(folder, label);
  }

  std::vector<Picture> pictures;
  DatasetFacts facts;
  LeftOutNames unread;  // pictures of kinds that the loader does not read

 private:
  Status add_entry(const fs::directory_entry& entry, int32_t label,
                   std::vector<fs::path>* classes) {
    const fs::path& path = entry.path();
    if (path.filename().native().starts_with('.')) {
      leave_out(Omission::kHidden, path);
      return Done{};
    }
    std::error_code error;
    const bool is_folder = entry.is_directory(error);
    forgive_absent(error);
    if (error) return unreadable(error, path);
    if (!is_folder) return add_file(entry, label);
    const bool is_link = entry.is_symlink(error);
    if (is_link && leads_above(path)) {
      leave_out(Omission::kLink, path);
      return Done{};
    }
    if (classes != nullptr) {
      classes->push_back(path);
      return Done{};
    }
    links_ += is_link ? 1 : 0;
    Status added = add(path, label);
    links_ -= is_link ? 1 : 0;
    return added;
  }

  Status add_file(const fs::directory_entry& entry, int32_t label) {
    const fs::path& path = entry.path();
    const std::string& name = path.native();
    if (!is_chosen(name)) {
      if (rules_.image.empty() && is_other_picture_name(name)) {
        unread.add(std::string(below(name, folder_)));
      } else {
        leave_out(is_picture_name(name) || is_other_picture_name(name)
                      ? Omission::kNotChosen
                      : Omission::kEnding,
                  path);
      }
      return Done{};
    }
    std::error_code error;
    const bool is_file = entry.is_regular_file(error);
    forgive_absent(error);
    if (error) return unreadable(error, path);
    const bool is_link = entry.is_symlink(error);
    if (!is_file) {
      leave_out(is_link ? Omission::kLink : Omission::kEnding, path);
      return Done{};
    }
    pictures.push_back({name, label, is_link || links_ > 0});
    return Done{};
  }

  bool is_chosen(const std::string& name) const {
    if (rules_.image.empty()) return is_picture_name(name);
    return std::any_of(rules_.image.begin(), rules_.image.end(),
                       [&](const std::string& ending) {
                         return has_ending(name, "." + ending);
                       });
  }

  bool leads_above(const fs::path& link) const {
    const std::optional<Identity> target = identity_of(link);
    return target &&
           std::find(above_.begin(), above_.end(), *target) != above_.end();
  }

  void leave_out(Omission why, const fs::path& path) {
    facts.of(why).add(std::string(below(path.native(), folder_)));
  }

  const SampleRules& rules_;
  const std::string folder_;
  std::vector<Identity> above_;  // the folders being listed, and the first
  int links_ = 0;                // of these
};

// Pictures that a link shows again.
uint64_t count_duplicates(const std::string& folder,
                          const std::vector<Picture>& pictures) {
  const auto is_linked = [](const Picture& it) { return it.is_linked; };
  if (std::none_of(pictures.begin(), pictures.end(), is_linked)) return 0;
  std::error_code ignored;
  const std::string real = fs::weakly_canonical(folder, ignored).native();
  std::unordered_set<std::string> seen;
  for (const Picture& picture : pictures) {
    if (picture.is_linked) continue;
    seen.insert(real + "/" + std::string(below(picture.path, folder)));
  }
  uint64_t count = 0;
  for (const Picture& picture : pictures) {
    if (!picture.is_linked) continue;
    const fs::path target = fs::weakly_canonical(picture.path, ignored);
    if (!seen.insert(target.native()).second) ++count;
  }
  return count;
}

Error no_picture(const std::string& folder) {
  return Error{Code::kNotFound, 0,
               folder + ": no file whose name ends in " + kPictureEndingsText};
}

// Numbers the classes, whose order is that of their names.
Status add_classes(std::vector<fs::path> classes, FolderWalk& walk) {
  std::sort(classes.begin(), classes.end(), [](const auto& a, const auto& b) {
    return a.native() < b.native();
  });
  walk.facts.classes = classes.size();
  for (size_t label = 0; label < classes.size(); ++label) {
    const size_t before = walk.pictures.size();
    const uint64_t unread = walk.unread.count;
    Status added = walk.add_class(classes[label], int32_t(label));
    if (!added) return added;
    if (walk.pictures.size() == before && walk.unread.count == unread) {
      walk.facts.empty_classes.add(classes[label].filename().native());
    }
  }
  return Done{};
}

Status check(const std::string& folder, const SampleRules& rules,
             const FolderWalk& walk) {
  if (walk.unread.count > 0) {
    return invalid(folder + ": " + walk.unread.counted() + kOtherPictures);
  }
  if (walk.pictures.empty()) return no_picture(folder);
  const LeftOutNames& empty = walk.facts.empty_classes;
  if (empty.count > 0 && !rules.allow_empty) {
    return invalid(folder + ": " + empty.counted() + kEmptyClasses);
  }
  return Done{};
}

}  // namespace

Result<std::shared_ptr<const Dataset>> open_folder(const std::string& folder,
                                                   const SampleRules& rules) {
  FolderWalk walk(rules, folder);
  std::vector<fs::path> classes;
  Status looked = walk.add(folder, kNoLabel, &classes);
  if (looked) looked = add_classes(std::move(classes), walk);
  if (looked) looked = check(folder, rules, walk);
  if (!looked) return std::move(looked).error();
  std::sort(walk.pictures.begin(), walk.pictures.end(),
            [](const Picture& a, const Picture& b) { return a.path < b.path; });
  walk.facts.samples = walk.pictures.size();
  walk.facts.duplicates = count_duplicates(folder, walk.pictures);
  walk.facts.labelled = uint64_t(std::count_if(
      walk.pictures.begin(), walk.pictures.end(),
      [](const Picture& picture) { return picture.label != kNoLabel; }));
  return std::shared_ptr<const Dataset>(std::make_shared<FolderDataset>(
      folder, std::move(walk.pictures), std::move(walk.facts)));
}

}  // namespace penstock
