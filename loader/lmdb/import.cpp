#include "loader/lmdb/import.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include "loader/lmdb/database_writer.h"
#include "loader/lmdb/page_batch.h"
#include "loader/lmdb/sidecar_file.h"

namespace penstock::lmdb {
namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) {
  return path.filename().native().starts_with('.');
}

struct FoundFile {
  std::string path;
  uint64_t bytes;
};

Result<std::vector<FoundFile>> find_files(const std::string& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error)) {
    return invalid(folder + ": no folder; allowed: a folder of files");
  }
  std::vector<FoundFile> files;
  fs::recursive_directory_iterator it(folder, error);
  for (; !error && it != fs::recursive_directory_iterator();
       it.increment(error)) {
    std::error_code ignored;  // a dangling link is no file
    if (is_hidden(it->path())) {
      if (it->is_directory(ignored)) it.disable_recursion_pending();
    } else if (it->is_regular_file(ignored)) {
      files.push_back({it->path(), it->file_size(ignored)});
    }
  }
  if (error) return system_error(error.value(), "cannot read " + folder);
  if (files.empty()) {
    return Error{Code::kNotFound, 0, folder + ": no file in it"};
  }
  if (files.size() > kMostImported) {
    return invalid(folder + ": " + std::to_string(files.size()) +
                   " files; allowed: up to " + std::to_string(kMostImported));
  }
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

Result<std::string> read_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return system_error(errno, path);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return system_error(errno, path);
  if (!S_ISREG(status.st_mode)) return invalid(path + ": no regular file");
  const auto bytes = static_cast<uint64_t>(status.st_size);
  if (bytes > kMostImportedBytes) {
    return invalid(path + ": " + std::to_string(bytes) +
                   " bytes; allowed: up to 1 GiB");
  }
  std::string value(bytes, '\0');
  const PageRange all{0,
                      {reinterpret_cast<uint8_t*>(value.data()), value.size()}};
  if (value.empty()) return value;
  Status got = PageBatch(ReadWith::kPread).read(fd.get(), {&all, 1});
  if (!got) return std::move(got).error().wrap(path);
  return value;
}

std::string key_of(uint64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(8 - digits.size(), '0') + digits;
}

// A folder beside the one that is to be: with everything in it, it goes with
// the object, unless it was given its name.
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

// What the database is likely to take, with room: its file grows as it is
// written to, whatever the map's size.
uint64_t likely_bytes(const std::vector<FoundFile>& files) {
  uint64_t bytes = uint64_t{16} << 20;
  for (const FoundFile& file : files) bytes += file.bytes + 8192;
  return bytes;
}

Status write_all(const std::vector<FoundFile>& files, DatabaseWriter& writer,
                 const GoOn& go_on, Imported& imported) {
  for (const FoundFile& file : files) {
    if (!go_on(imported.records, files.size())) {
      return Error{Code::kUnavailable, 0, "interrupted"};
    }
    Result<std::string> value = read_file(file.path);
    if (!value) return std::move(value).error();
    imported.value_bytes += value->size();
    Status appended =
        writer.append(key_of(imported.records++), *std::move(value));
    if (!appended) return appended;
  }
  return writer.finish();
}

}  // namespace

Result<Imported> import_folder(const std::string& source,
                               const std::string& database, const GoOn& go_on) {
  Result<std::vector<FoundFile>> files = find_files(source);
  if (!files) return std::move(files).error();
  FolderAside folder;
  Status done = folder.make(database);
  if (!done) return std::move(done).error();
  Imported imported;
  {
    DatabaseWriter writer;
    done = writer.open(folder.path(), likely_bytes(*files));
    if (done) done = write_all(*files, writer, go_on, imported);
  }
  if (!done) {
    return std::move(done).error().wrap("nothing of " + folder.name() +
                                        " was kept");
  }
  Result<Database> written =
      Database::open(folder.path(), {.use_sidecar = false});
  if (!written) return std::move(written).error();
  Result<uint64_t> index_bytes = write_sidecar(*written, "");
  if (!index_bytes) return std::move(index_bytes).error();
  if (done = folder.give_name(); !done) return std::move(done).error();
  imported.index_bytes = *index_bytes;
  imported.data_file = folder.name() + "/data.mdb";
  return imported;
}

}  // namespace penstock::lmdb
