#include "loader/dataset.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>

namespace penstock {
namespace {

namespace fs = std::filesystem;

bool has_ending_of(SampleFormat format, const fs::path& path) {
  std::string ending = path.extension().string();
  for (char& c : ending) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (format == SampleFormat::kRaw) return ending == ".ppm";
  return ending == ".jpg" || ending == ".jpeg";
}

const char* endings(SampleFormat format) {
  return format == SampleFormat::kRaw ? ".ppm" : ".jpg or .jpeg";
}

}  // namespace

Result<Dataset> open_dataset(const std::string& folder, SampleFormat format) {
  Dataset dataset{folder, format, {}};
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  for (; !error && it != fs::recursive_directory_iterator();
       it.increment(error)) {
    if (!has_ending_of(format, it->path())) continue;
    std::error_code ignored;  // a dangling link is no file
    if (it->is_regular_file(ignored)) dataset.paths.push_back(it->path());
  }
  if (error) return system_error(error.value(), "cannot read " + folder);
  if (dataset.paths.empty()) {
    return Error{Code::kNotFound, 0,
                 folder + ": no file whose name ends in " + endings(format)};
  }
  std::sort(dataset.paths.begin(), dataset.paths.end());
  return dataset;
}

const char* sample_format_name(SampleFormat format) {
  return format == SampleFormat::kRaw ? "raw" : "jpeg";
}

}  // namespace penstock
