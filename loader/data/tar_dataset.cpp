// A dataset of WebDataset tar shards.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <utility>
#include <vector>

#include "common/unique_fd.h"
#include "loader/data/fingerprint.h"
#include "loader/data/label_counts.h"
#include "loader/data/part_dataset.h"
#include "loader/data/picture_names.h"
#include "loader/data/tar_samples.h"

namespace penstock {
namespace {

struct Shard {
  std::string path;
  FileVersion file;
};

// Names are concatenated in one string: a million separate strings would take
// several times the memory.
struct Place {
  uint64_t offset;
  uint64_t bytes;
  uint64_t name_begin;
  int64_t label;
  size_t shard;
};

class TarDataset : public PartDataset {
 public:
  uint64_t size() const override { return places_.size(); }
  int64_t label(uint64_t index) const override { return places_[index].label; }
  std::string name(uint64_t index) const override {
    const uint64_t begin = places_[index].name_begin;
    const uint64_t end = index + 1 < places_.size()
                             ? places_[index + 1].name_begin
                             : names_.size();
    return file_of(index) + ": " + names_.substr(begin, end - begin);
  }
  const std::string& path() const override { return shards_[0].path; }
  uint64_t fingerprint() const override { return fingerprint_.value(); }

  FileReader::Part part_of(uint64_t index) const override {
    const Place& place = places_[index];
    return {place.offset, place.bytes, shards_[place.shard].file};
  }
  const std::string& file_of(uint64_t index) const override {
    return shards_[places_[index].shard].path;
  }

  DatasetFacts facts() const override {
    DatasetFacts out = facts_;
    count_labels(
        size(), [&](uint64_t i) { return label(i); }, out);
    return out;
  }

  Status add(const std::string& path, const SampleRules& rules);

 private:
  std::vector<Shard> shards_;
  std::vector<Place> places_;
  std::string names_;
  Fingerprint fingerprint_;
  std::set<std::pair<uint64_t, uint64_t>> files_;  // device and inode
  DatasetFacts facts_;                             // but for counts of labels
};

Status read_all(int fd, uint64_t offset, std::span<uint8_t> out) {
  for (size_t done = 0; done < out.size();) {
    const ssize_t got = ::pread(fd, out.data() + done, out.size() - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, "cannot read");
    if (got == 0) return invalid("became shorter while it was read");
    done += static_cast<size_t>(got);
  }
  return Done{};
}

Status TarDataset::add(const std::string& path, const SampleRules& rules) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return system_error(errno, path);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return system_error(errno, path);
  if (!S_ISREG(status.st_mode)) return invalid(path + ": no regular file");
  // No readahead: the data between the headers is not needed.
  (void)::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_RANDOM);
  const FileVersion file = FileVersion::of(status);
  auto found = find_tar_samples({file.bytes,
                                 [&](uint64_t offset, std::span<uint8_t> out) {
                                   return read_all(fd.get(), offset, out);
                                 }},
                                rules);
  if (!found) return std::move(found).error().wrap(path);
  const bool is_new = files_.insert({file.device, file.inode}).second;
  if (!is_new) facts_.duplicates += found->samples.size();
  for (int why = 0; why < kOmissionCount; ++why) {
    facts_.left_out[why].add(found->facts.left_out[why]);
  }
  for (const TarSample& sample : found->samples) {
    places_.push_back({sample.offset, sample.bytes, names_.size(), sample.label,
                       shards_.size()});
    names_ += sample.name;
    // The rules choose pictures and labels of the same file.
    fingerprint_.add(sample.offset);
    fingerprint_.add(static_cast<uint64_t>(sample.label));
  }
  fingerprint_.add(file);
  shards_.push_back({path, file});
  return Done{};
}

}  // namespace

Result<std::shared_ptr<const Dataset>> open_tar_shards(
    const std::vector<std::string>& paths, const SampleRules& rules) {
  if (paths.empty()) return invalid("no tar shard is named");
  auto dataset = std::make_shared<TarDataset>();
  for (const std::string& path : paths) {
    auto added = dataset->add(path, rules);
    if (!added) return std::move(added).error();
  }
  if (dataset->size() == 0) {
    return Error{Code::kNotFound, 0,
                 paths[0] + (paths.size() > 1 ? " and the other shards" : "") +
                     ": no member whose name ends in " + kPictureEndingsText};
  }
  return std::shared_ptr<const Dataset>(std::move(dataset));
}

}  // namespace penstock
