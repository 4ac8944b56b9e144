#include "tools/penstock/named_profile.h"

#include <sys/stat.h>

#include "common/units.h"
#include "tools/penstock/read_file.h"

namespace penstock {
namespace {

constexpr size_t kMaxProfileBytes = size_t{64} * 1024;

Result<Profile> profile_file(const std::string& path) {
  Result<std::string> text = read_file(path, kMaxProfileBytes);
  if (!text) return std::move(text).error();
  return parse_profile(*text, path);
}

bool is_file(const std::string& name) {
  struct stat info {};
  return ::stat(name.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

}  // namespace

Result<Profile> find_profile(const std::string& name, const Config& config) {
  if (name.find('/') != name.npos) return profile_file(name);
  for (const char* suffix : {".toml", ".json"}) {
    Result<Profile> site =
        profile_file(config.profile_dir + "/" + name + suffix);
    if (site || site.error().code != Code::kNotFound) return site;
  }
  Result<Profile> builtin = builtin_profile(name);
  if (!builtin && is_file(name)) {
    return std::move(builtin).error().wrap(
        printable(name) +
        " is a file; a file's path must hold a '/', as in ./" +
        printable(name));
  }
  return builtin;
}

}  // namespace penstock
