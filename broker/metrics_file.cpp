#include "broker/metrics_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/admin_file.h"
#include "common/unique_fd.h"

namespace penstock {
namespace {

// path: absolute, which the configuration ensures.
struct Place {
  std::string directory;
  std::string name;
  std::string aside;  // not *.prom: node_exporter ignores it

  explicit Place(const std::string& path) {
    const size_t slash = path.rfind('/');
    directory = path.substr(0, std::max<size_t>(slash, 1));
    name = path.substr(slash + 1);
    aside = "." + name + ".new";
  }
};

Status unlink_if_there(int directory_fd, const std::string& name,
                       const std::string& path) {
  if (::unlinkat(directory_fd, name.c_str(), 0) != 0 && errno != ENOENT) {
    return system_error(errno, path);
  }
  return Done{};
}

}  // namespace

Status write_metrics_file(const std::string& path, std::string_view text) {
  const Place place(path);
  Result<UniqueFd> directory =
      open_admin_directory(place.directory, place.directory);
  if (!directory) return std::move(directory).error();
  // Mode 0644: node_exporter runs as another user.
  return replace_file({.dir_fd = directory->get(),
                       .name = place.name,
                       .aside = place.aside,
                       .mode = 0644},
                      text);
}

// Removes the unfinished file first, so that a writer that is being killed can
// no longer rename it.
Status remove_metrics_file(const std::string& path) {
  const Place place(path);
  Result<UniqueFd> directory =
      open_admin_directory(place.directory, place.directory);
  if (!directory && directory.error().code == Code::kNotFound) return Done{};
  if (!directory) return std::move(directory).error();
  Status removed = unlink_if_there(directory->get(), place.aside, path);
  if (!removed) return removed;
  return unlink_if_there(directory->get(), place.name, path);
}

}  // namespace penstock
