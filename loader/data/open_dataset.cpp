#include <algorithm>
#include <filesystem>
#include <system_error>

#include "common/text_scan.h"
#include "loader/data/path_pattern.h"
#include "loader/data/picture_names.h"
#include "loader/lmdb/lmdb_database.h"
#include "penstock/loader/dataset.h"

namespace penstock {

namespace {

using Opened = Result<std::shared_ptr<const Dataset>>;

bool is_tar(const std::string& path) { return path.ends_with(".tar"); }

// Samples of compressed shards cannot be read in any order.
Status check_compressed(const std::vector<std::string>& paths) {
  struct Kind {
    const char* ending;
    const char* program;
  };
  constexpr Kind kKinds[] = {{".tar.gz", "gunzip"},
                             {".tgz", "gunzip"},
                             {".tar.zst", "unzstd"},
                             {".tar.xz", "unxz"},
                             {".tar.bz2", "bunzip2"}};
  for (const std::string& path : paths) {
    for (const Kind& kind : kKinds) {
      if (!path.ends_with(kind.ending)) continue;
      return invalid(path +
                     ": a compressed tar shard, whose samples cannot be read "
                     "in any order; unpack it: " +
                     kind.program + " " + path);
    }
  }
  return Done{};
}

// Shards in a folder, in byte order.
std::vector<std::string> shards_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end;
       !error && it != end; it.increment(error)) {
    if (is_tar(it->path().native())) out.push_back(it->path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// A folder of pictures, or of nothing but shards.
Opened open_as_folder(const std::string& folder, const SampleRules& rules) {
  Opened pictures = open_folder(folder, rules);
  if (pictures || pictures.error().code != Code::kNotFound) return pictures;
  const std::vector<std::string> shards = shards_in(folder);
  return shards.empty() ? pictures : open_tar_shards(shards, rules);
}

}  // namespace

Result<std::vector<std::string>> parse_endings(const std::string& text) {
  std::vector<std::string> out;
  if (text.empty()) return out;
  for (std::string_view part : split(text, ';')) {
    if (part.starts_with('.')) part.remove_prefix(1);
    if (part.empty()) {
      return invalid("image=\"" + text +
                     "\": an empty ending; allowed: as in \"jpg;png\"");
    }
    out.push_back(in_lower_case(part));
  }
  return out;
}

Opened open_dataset(const std::vector<std::string>& named,
                    const std::optional<RecordLayout>& records,
                    const SampleRules& rules) {
  if (named.empty()) return invalid("no data is named");
  const auto expanded = expand_paths(named);
  if (!expanded) return expanded.error();
  const std::vector<std::string>& paths = *expanded;
  if (records) {
    if (paths.size() == 1) return open_records(paths[0], *records);
    return invalid(paths[1] + ": records are read from one file only");
  }
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(paths[0], error);
  if (paths.size() == 1 && lmdb::is_database(paths[0])) {
    return open_lmdb(paths[0]);
  }
  if (paths.size() == 1 && is_folder) return open_as_folder(paths[0], rules);
  if (std::all_of(paths.begin(), paths.end(), is_tar)) {
    return open_tar_shards(paths, rules);
  }
  if (error) return system_error(error.value(), paths[0]);
  Status plain = check_compressed(paths);
  if (!plain) return std::move(plain).error();
  if (paths.size() == 1) {
    return invalid(paths[0] +
                   ": neither a folder, an LMDB database nor a tar shard "
                   "(.tar); a file of records needs the records' size");
  }
  return invalid(paths[0] + ", " + paths[1] +
                 ": several paths have to be tar shards (.tar), all of them");
}

}  // namespace penstock
