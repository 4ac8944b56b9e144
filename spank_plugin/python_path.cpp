#include "spank_plugin/python_path.h"

namespace penstock::spank {
namespace {

bool has_entry(std::string_view path, std::string_view folder) {
  while (!path.empty()) {
    const size_t end = path.find(':');
    if (path.substr(0, end) == folder) return true;
    path = end == path.npos ? "" : path.substr(end + 1);
  }
  return false;
}

}  // namespace

std::string led_by(std::string_view folder, std::string_view path) {
  if (has_entry(path, folder)) return std::string(path);
  std::string longer(folder);
  if (!path.empty()) longer.append(":").append(path);
  return longer;
}

}  // namespace penstock::spank
