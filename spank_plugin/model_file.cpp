#include "spank_plugin/model_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "common/profile_names.h"
#include "common/protocol.h"
#include "common/unique_fd.h"
#include "common/units.h"

namespace penstock::spank {
namespace {

constexpr size_t kMaxPathBytes = sizeof(penstock_wire_options::model) - 1;

// 0 if path is a readable regular file; else an errno (EINVAL: not regular).
int check_file(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  const UniqueFd fd(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return errno;
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return errno;
  return S_ISREG(status.st_mode) ? 0 : EINVAL;
}

Error refused(std::string_view model, const std::string& why) {
  return invalid(printable(model) + ": " + why);
}

Result<std::string> resolve_path(std::string_view model,
                                 std::string_view directory) {
  std::string path(model);
  if (path.front() != '/') path = std::string(directory) + "/" + path;
  if (path.size() > kMaxPathBytes)
    return refused(model, "its absolute path is over " +
                              std::to_string(kMaxPathBytes) + " bytes");
  const int error = check_file(path);
  if (error == EINVAL) return refused(model, "not a regular file");
  if (error != 0) return refused(model, std::strerror(error));
  return path;
}

bool is_builtin(std::string_view name) {
  return std::find(std::begin(kProfileNames), std::end(kProfileNames), name) !=
         std::end(kProfileNames);
}

std::string builtin_names() {
  std::string names;
  for (const char* name : kProfileNames)
    names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

Result<std::string> find_model(std::string_view model,
                               std::string_view directory,
                               std::string_view profile_dir) {
  if (model.find('/') != std::string_view::npos)
    return resolve_path(model, directory);
  const std::string name(model);
  const std::string base = std::string(profile_dir) + "/" + name;
  if (is_builtin(model) || check_file(base + ".toml") == 0 ||
      check_file(base + ".json") == 0)
    return name;
  return refused(model, "no such profile; allowed: " + builtin_names() +
                            ", a profile in " + std::string(profile_dir) +
                            ", or a file's path (with a '/')");
}

}  // namespace

Result<std::string> resolve_model(std::string_view model,
                                  std::string_view directory,
                                  std::string_view profile_dir,
                                  std::string_view source) {
  auto found = find_model(model, directory, profile_dir);
  if (!found)
    found.error().message = std::string(source) + "=" + found.error().message;
  return found;
}

}  // namespace penstock::spank
