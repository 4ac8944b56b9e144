// A file of records of one size, such as CIFAR-10's binary version.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "common/unique_fd.h"
#include "loader/data/fingerprint.h"
#include "loader/data/part_dataset.h"

namespace penstock {
namespace {

constexpr uint64_t kMostLabelBytes = 4;

// Little-endian, unsigned.
int64_t label_in(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return kNoLabel;
  int64_t label = 0;
  for (size_t i = bytes.size(); i > 0; --i) label = label << 8 | bytes[i - 1];
  return label;
}

class RecordDataset : public PartDataset {
 public:
  RecordDataset(std::string path, UniqueFd fd, const FileVersion& file,
                const RecordLayout& layout)
      : path_(std::move(path)),
        fd_(std::move(fd)),
        file_(file),
        layout_(layout) {}

  uint64_t size() const override {
    return (file_.bytes - layout_.header_bytes) / layout_.record_bytes;
  }
  int64_t label(uint64_t index) const override {
    uint8_t bytes[kMostLabelBytes] = {};
    const ssize_t got = ::pread(fd_.get(), bytes, layout_.label_bytes,
                                static_cast<off_t>(part_of(index).offset));
    if (got != static_cast<ssize_t>(layout_.label_bytes)) return kNoLabel;
    return label_in(std::span(bytes).first(layout_.label_bytes));
  }
  std::string name(uint64_t index) const override {
    return path_ + ": record " + std::to_string(index);
  }
  const std::string& path() const override { return path_; }
  uint64_t fingerprint() const override {
    Fingerprint fingerprint;
    fingerprint.add(file_);
    fingerprint.add(layout_.record_bytes);
    fingerprint.add(layout_.label_bytes);
    fingerprint.add(layout_.header_bytes);
    return fingerprint.value();
  }
  uint64_t tensor_bytes() const override {
    return layout_.record_bytes - layout_.label_bytes;
  }
  // How many classes there are is known only after all is read.
  DatasetFacts facts() const override {
    DatasetFacts out;
    out.samples = size();
    if (layout_.label_bytes > 0) out.labelled = out.samples;
    return out;
  }
  std::unique_ptr<SampleReader> new_reader(ReadMode mode) const override;

  FileReader::Part part_of(uint64_t index) const override {
    return {layout_.header_bytes + index * layout_.record_bytes,
            layout_.record_bytes, file_};
  }
  uint64_t label_bytes() const { return layout_.label_bytes; }

 private:
  const std::string path_;
  const UniqueFd fd_;
  const FileVersion file_;
  const RecordLayout layout_;
};

// Takes the label off the record.
class RecordReader : public PartReader {
 public:
  RecordReader(const RecordDataset& dataset, ReadMode mode)
      : PartReader(dataset, mode), label_bytes_(dataset.label_bytes()) {}

  Result<std::span<const uint8_t>> read() override {
    auto record = PartReader::read();
    if (!record) return record;
    label_ = label_in(record->first(label_bytes_));
    return record->subspan(label_bytes_);
  }
  int64_t label() const override { return label_; }

 private:
  const uint64_t label_bytes_;
  int64_t label_ = kNoLabel;
};

std::unique_ptr<SampleReader> RecordDataset::new_reader(ReadMode mode) const {
  return std::make_unique<RecordReader>(*this, mode);
}

Status check(const RecordLayout& layout) {
  if (layout.label_bytes > kMostLabelBytes) {
    return invalid("label of " + std::to_string(layout.label_bytes) +
                   " bytes; allowed: 0 to 4");
  }
  if (layout.record_bytes <= layout.label_bytes ||
      layout.record_bytes > FileReader::kMaxReadBytes) {
    return invalid("record of " + std::to_string(layout.record_bytes) +
                   " bytes; allowed: more than its label's, up to 1 GiB");
  }
  return Done{};
}

}  // namespace

Result<std::shared_ptr<const Dataset>> open_records(
    const std::string& path, const RecordLayout& layout) {
  auto checked = check(layout);
  if (!checked) return std::move(checked).error().wrap(path);
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return system_error(errno, path);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return system_error(errno, path);
  if (!S_ISREG(status.st_mode)) return invalid(path + ": no regular file");
  const FileVersion file = FileVersion::of(status);
  const uint64_t bytes = file.bytes;
  if (bytes <= layout.header_bytes ||
      (bytes - layout.header_bytes) % layout.record_bytes != 0) {
    return invalid(path + ": " + std::to_string(bytes) + " bytes are not " +
                   std::to_string(layout.header_bytes) +
                   " of a header and records of " +
                   std::to_string(layout.record_bytes) + " bytes each");
  }
  return std::shared_ptr<const Dataset>(
      std::make_shared<RecordDataset>(path, std::move(fd), file, layout));
}

}  // namespace penstock
