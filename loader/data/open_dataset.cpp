#include <algorithm>
#include <filesystem>
#include <system_error>

#include "loader/lmdb/lmdb_database.h"
#include "penstock/loader/dataset.h"

namespace penstock {

Result<std::shared_ptr<const Dataset>> open_dataset(
    const std::vector<std::string>& paths,
    const std::optional<RecordLayout>& records) {
  if (paths.empty()) return invalid("no data is named");
  if (records) {
    if (paths.size() == 1) return open_records(paths[0], *records);
    return invalid(paths[1] + ": records are read from one file only");
  }
  const auto is_tar = [](const std::string& path) {
    return path.ends_with(".tar");
  };
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(paths[0], error);
  if (paths.size() == 1 && lmdb::is_database(paths[0])) {
    return open_lmdb(paths[0]);
  }
  if (paths.size() == 1 && is_folder) return open_folder(paths[0]);
  if (std::all_of(paths.begin(), paths.end(), is_tar)) {
    return open_tar_shards(paths);
  }
  if (error) return system_error(error.value(), paths[0]);
  if (paths.size() == 1) {
    return invalid(paths[0] +
                   ": neither a folder, an LMDB database nor a tar shard "
                   "(.tar); a file of records needs the records' size");
  }
  return invalid(paths[0] + ", " + paths[1] +
                 ": several paths have to be tar shards (.tar), all of them");
}

}  // namespace penstock
