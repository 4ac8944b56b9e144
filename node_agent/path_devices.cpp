#include "node_agent/path_devices.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <fstream>

namespace penstock {
namespace {

constexpr size_t kMaxBytesPerPath = 64;

PathDevice ask(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {"", errno};
  if (major(found.st_dev) == 0) return {};
  const std::string device =
      fmt::format("{}:{}", major(found.st_dev), minor(found.st_dev));
  return {whole_disk("/sys/dev/block", device), 0};
}

// Reads a number and the separator after it.
bool take(std::string_view& text, char end, uint32_t& value) {
  const auto [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest == text.data() + text.size() ||
      *rest != end) {
    return false;
  }
  text.remove_prefix(size_t(rest - text.data()) + 1);
  return true;
}

}  // namespace

std::string whole_disk(const std::string& sys_dev_block,
                       const std::string& device) {
  const std::string entry = sys_dev_block + "/" + device;
  if (::access((entry + "/partition").c_str(), F_OK) != 0) return device;
  std::ifstream parent(entry + "/../dev");  // the entry is a link into the disk
  std::string disk;
  return parent >> disk ? disk : device;
}

std::string format_path_devices(const std::vector<PathDevice>& devices) {
  std::string text;
  for (const PathDevice& found : devices) {
    text += fmt::format("{} {}\n", found.device.empty() ? "0:0" : found.device,
                        found.error);
  }
  return text;
}

Result<std::vector<PathDevice>> parse_path_devices(std::string_view text,
                                                   size_t paths) {
  std::vector<PathDevice> devices;
  while (!text.empty() && devices.size() < paths) {
    uint32_t major_number = 0;
    uint32_t minor_number = 0;
    uint32_t error = 0;
    if (!take(text, ':', major_number) || !take(text, ' ', minor_number) ||
        !take(text, '\n', error)) {
      return invalid("not a device number and an error");
    }
    PathDevice found{"", int(error)};
    if (major_number != 0) {
      found.device = fmt::format("{}:{}", major_number, minor_number);
    }
    devices.push_back(std::move(found));
  }
  if (devices.size() != paths || !text.empty()) {
    return invalid("not one line a path");
  }
  return devices;
}

void find_path_devices(
    BoundedChildren& children, const std::vector<std::string>& paths,
    std::function<void(Result<std::vector<PathDevice>>)> callback) {
  ChildWork work;
  work.what = "looking at Pool=";
  work.deadline_ms = kPathDeadline_ms;
  work.max_bytes = kMaxBytesPerPath * paths.size() + 1;
  work.body = [&paths](int out) {
    std::vector<PathDevice> found;
    for (const std::string& path : paths) found.push_back(ask(path));
    const std::string text = format_path_devices(found);
    (void)!::write(out, text.data(), text.size());
  };
  children.start(work, [callback = std::move(callback),
                        count = paths.size()](Result<std::string> text) {
    if (!text) return callback(std::move(text).error());
    callback(parse_path_devices(*text, count));
  });
}

}  // namespace penstock
