#include "loader/lmdb/lmdb_database.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "loader/lmdb/page_source.h"
#include "loader/lmdb/sidecar.h"
#include "loader/lmdb/tree_walk.h"

namespace penstock::lmdb {
namespace {

namespace fs = std::filesystem;

Result<std::string> read_whole(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return system_error(errno, path);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return system_error(errno, path);
  if (!S_ISREG(status.st_mode)) return invalid(path + ": no regular file");
  std::string text(static_cast<size_t>(status.st_size), '\0');
  const PageRange all{0,
                      {reinterpret_cast<uint8_t*>(text.data()), text.size()}};
  if (text.empty()) return text;
  Status got = PageBatch(ReadWith::kPread).read(fd.get(), {&all, 1});
  if (!got) return std::move(got).error().wrap(path);
  return text;
}

}  // namespace

std::string sidecar_path(const std::string& data_file) {
  return data_file + kSidecarEnding;
}

Result<DataFile> open_data_file(const std::string& path) {
  DataFile file{path, UniqueFd()};
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return system_error(errno, path);
  if (S_ISDIR(status.st_mode)) {
    file.path += "/data.mdb";
    if (::stat(file.path.c_str(), &status) != 0) {
      return system_error(errno, file.path);
    }
  }
  if (!S_ISREG(status.st_mode)) return invalid(file.path + ": no regular file");
  file.fd.reset(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.fd) return system_error(errno, file.path);
  return file;
}

bool is_database(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    return fs::is_regular_file(path + "/data.mdb", ignored);
  }
  Result<DataFile> file = open_data_file(path);
  if (!file) return false;
  std::array<uint8_t, 32> begin;
  const ssize_t got = ::pread(file->fd.get(), begin.data(), begin.size(), 0);
  return got > 0 && has_magic(Bytes(begin).first(static_cast<size_t>(got)));
}

Result<Database> Database::open(const std::string& path,
                                const DatabaseOptions& options) {
  Database database;
  Result<DataFile> file = open_data_file(path);
  if (!file) return std::move(file).error();
  database.file_ = *std::move(file);
  Result<Snapshot> snapshot = take_snapshot(database.fd());
  if (!snapshot) return std::move(snapshot).error().wrap(database.path());
  database.snapshot_ = *snapshot;
  if (options.use_sidecar) {
    Status used = database.read_sidecar(options);
    database.is_from_sidecar_ = used.ok();
    if (used) return database;
    const Error& why = used.error();
    if (why.saved_errno != ENOENT) database.sidecar_refusal_ = why.message;
  }
  Status walked = database.walk();
  if (!walked) return std::move(walked).error().wrap(database.path());
  return database;
}

Database Database::without_index(DataFile file, const Snapshot& snapshot) {
  Database database;
  database.file_ = std::move(file);
  database.snapshot_ = snapshot;
  return database;
}

Status Database::read_sidecar(const DatabaseOptions& options) {
  const std::string sidecar = sidecar_path(path());
  Result<std::string> text = read_whole(sidecar);
  if (!text) return std::move(text).error();
  Result<RecordIndex> index = parse_sidecar(*text, snapshot_);
  if (!index) return std::move(index).error().wrap(sidecar);
  FilePages pages(fd(), PageBatch(ReadWith::kPread));
  Status same = check_sample(pages, snapshot_, *index, options.seed);
  if (!same) return std::move(same).error().wrap(sidecar);
  index_ = *std::move(index);
  return Done{};
}

Status Database::walk() {
  FilePages pages(fd(), PageBatch());
  RecordIndexBuilder builder;
  uint64_t number = 0;
  Status walked = walk_tree(pages, snapshot_, [&](const Record& record) {
    builder.add(record.value, label_in_key(record.key, number++));
  });
  // Pages that were overwritten meanwhile look damaged: report the write.
  if (Status intact = lmdb::check_intact(fd(), snapshot_); !intact) {
    return intact;
  }
  if (!walked) return walked;
  index_ = builder.finish();
  return Done{};
}

Status Database::check_intact() const {
  Status intact = lmdb::check_intact(fd(), snapshot_);
  if (!intact) return std::move(intact).error().wrap(path());
  return intact;
}

}  // namespace penstock::lmdb
