// An LMDB database as a dataset.
#include <sys/stat.h>

#include <cerrno>

#include "common/clock.h"
#include "loader/data/fingerprint.h"
#include "loader/data/label_counts.h"
#include "loader/data/part_dataset.h"
#include "loader/lmdb/lmdb_database.h"

namespace penstock {
namespace {

static_assert(lmdb::kUnlabelled == kNoLabel);

class LmdbDataset : public PartDataset {
 public:
  LmdbDataset(lmdb::Database database, const struct stat& status)
      : database_(std::move(database)), file_(FileVersion::of(status)) {}

  uint64_t size() const override { return database_.index().size(); }
  int64_t label(uint64_t index) const override {
    return database_.index().label(index);
  }
  std::string name(uint64_t index) const override {
    return path() + ": record " + std::to_string(index);
  }
  const std::string& path() const override { return database_.path(); }
  uint64_t fingerprint() const override {
    Fingerprint fingerprint;
    fingerprint.add(file_);
    fingerprint.add(size());
    return fingerprint.value();
  }
  DatasetFacts facts() const override {
    DatasetFacts out;
    count_labels(
        size(), [&](uint64_t i) { return label(i); }, out);
    return out;
  }
  FileReader::Part part_of(uint64_t index) const override {
    const lmdb::RecordSpan value = database_.index().at(index);
    return {value.offset, value.bytes, file_};
  }
  Status check_unchanged() const override;

 private:
  const lmdb::Database database_;
  const FileVersion file_;
};

// The meta pages show transactions, even those that write through a map, which
// does not update the modification time. The time shows any other write to the
// file.
Status LmdbDataset::check_unchanged() const {
  struct stat status {};
  if (::fstat(database_.fd(), &status) != 0) {
    return system_error(errno, path());
  }
  const lmdb::Snapshot& then = database_.snapshot();
  const bool is_same =
      static_cast<uint64_t>(status.st_size) == then.file_bytes &&
      status.st_mtim.tv_sec == then.mtime_s &&
      static_cast<uint32_t>(status.st_mtim.tv_nsec) == then.mtime_ns;
  Status intact = database_.check_intact();
  if (is_same && intact) return Done{};
  return Error{Code::kUnavailable, 0,
               path() +
                   ": the database was written to since it was opened; data "
                   "must not change under a job: start again when its writer "
                   "is done, or read a copy (mdb_copy)"};
}

}  // namespace

Result<std::shared_ptr<const Dataset>> open_lmdb(const std::string& path) {
  // The seed differs for each job, so each checks other parts of the index.
  auto database = lmdb::Database::open(path, {.seed = monotonic_ns()});
  if (!database) return std::move(database).error();
  struct stat status {};
  if (::fstat(database->fd(), &status) != 0) {
    return system_error(errno, database->path());
  }
  if (database->index().size() == 0) {
    return Error{Code::kNotFound, 0, database->path() + ": no record in it"};
  }
  return std::shared_ptr<const Dataset>(
      std::make_shared<LmdbDataset>(*std::move(database), status));
}

}  // namespace penstock
