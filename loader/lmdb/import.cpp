#include "loader/lmdb/import.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>

#include "loader/lmdb/database_writer.h"
#include "loader/lmdb/record_key.h"
#include "loader/lmdb/sidecar_file.h"

namespace penstock::lmdb {
namespace {

namespace fs = std::filesystem;

// Initial map size. The file itself grows only as it is written.
constexpr uint64_t kMapBytes = uint64_t{1} << 30;

// A temporary folder beside the target. The destructor removes it with its
// contents unless give_name() succeeded.
class FolderAside {
 public:
  FolderAside() = default;
  FolderAside(const FolderAside&) = delete;
  FolderAside& operator=(const FolderAside&) = delete;
  ~FolderAside() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  Status make(std::string name) {
    while (name.size() > 1 && name.back() == '/') name.pop_back();
    struct stat status {};
    if (::lstat(name.c_str(), &status) == 0) {
      return invalid(name + " is there already; remove it, or name another");
    }
    const std::string path = name + ".partial-" + std::to_string(::getpid());
    if (::mkdir(path.c_str(), 0777) != 0) {
      Error error = system_error(errno, "cannot make " + path);
      if (error.code == Code::kNotFound) error.code = Code::kInvalidArgument;
      error.message += "; name a database in a folder that you may write in";
      return error;
    }
    name_ = std::move(name);
    path_ = path;
    return Done{};
  }

  Status give_name() {
    if (::rename(path_.c_str(), name_.c_str()) != 0) {
      return system_error(errno, "cannot rename " + path_ + " to " + name_);
    }
    path_.clear();
    return Done{};
  }

  const std::string& path() const { return path_; }
  const std::string& name() const { return name_; }

 private:
  std::string path_, name_;
};

// Reads whole samples of a dataset.
class Samples {
 public:
  explicit Samples(const Dataset& dataset)
      : dataset_(dataset), reader_(dataset.new_reader(ReadMode::kBuffered)) {}

  Result<std::string> read(uint64_t index) {
    auto bytes = reader_->open(index, SampleSource::kUsual);
    if (!bytes) return std::move(bytes).error();
    auto value = reader_->read();
    if (!value) return std::move(value).error();
    if (value->size() != *bytes) {
      return Error{Code::kIo, 0,
                   dataset_.name(index) + ": became shorter while it was read"};
    }
    return std::string(value->begin(), value->end());
  }

 private:
  const Dataset& dataset_;
  const std::unique_ptr<SampleReader> reader_;
};

Status write_all(const Dataset& source, DatabaseWriter& writer,
                 const GoOn& go_on, Imported& imported) {
  Samples samples(source);
  for (uint64_t i = 0; i < source.size(); ++i) {
    if (!go_on(i, source.size())) {
      return Error{Code::kUnavailable, 0, "interrupted"};
    }
    Result<std::string> value = samples.read(i);
    if (!value) return std::move(value).error();
    const auto label = static_cast<int32_t>(source.label(i));
    ++imported.records;
    imported.labels += label != kUnlabelled;
    imported.value_bytes += value->size();
    Status appended = writer.append(record_key(i, label), *std::move(value));
    if (!appended) return appended;
  }
  return writer.finish();
}

Status check_source(const Dataset& source) {
  if (source.tensor_bytes() > 0) {
    return invalid(source.path() +
                   ": records of a tensor; allowed: pictures, as a file of "
                   "records is read as fast as a database");
  }
  if (source.size() <= kMostNumbered) return Done{};
  return invalid(source.path() + ": " + std::to_string(source.size()) +
                 " samples; allowed: up to " + std::to_string(kMostNumbered));
}

}  // namespace

Result<Imported> import_samples(const Dataset& source,
                                const std::string& database,
                                const GoOn& go_on) {
  Status done = check_source(source);
  if (!done) return std::move(done).error();
  FolderAside folder;
  done = folder.make(database);
  if (!done) return std::move(done).error();
  Imported imported;
  {
    DatabaseWriter writer;
    done = writer.open(folder.path(), kMapBytes);
    if (done) done = write_all(source, writer, go_on, imported);
  }
  if (!done) {
    return std::move(done).error().wrap("nothing of " + folder.name() +
                                        " was kept");
  }
  Result<Database> written =
      Database::open(folder.path(), {.use_sidecar = false});
  if (!written) return std::move(written).error();
  Result<uint64_t> index_bytes = write_sidecar(*written);
  if (!index_bytes) return std::move(index_bytes).error();
  if (done = folder.give_name(); !done) return std::move(done).error();
  imported.index_bytes = *index_bytes;
  imported.data_file = folder.name() + "/data.mdb";
  return imported;
}

}  // namespace penstock::lmdb
