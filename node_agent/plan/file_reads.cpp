#include "node_agent/plan/file_reads.h"

#include <algorithm>
#include <vector>

#include "common/text_scan.h"
#include "common/units.h"

namespace penstock {
namespace {

Error malformed(std::string_view line) {
  return invalid("reads: malformed line " + quoted(printable(line)));
}

bool read_process(const std::vector<std::string_view>& fields,
                  ReadsLook& look) {
  pid_t process = 0;
  ReadCounters counters;
  if (fields.size() != 4 || !to_number(fields[1], process) || process <= 0 ||
      !to_number(fields[2], counters.bytes) ||
      !to_number(fields[3], counters.calls)) {
    return false;
  }
  look.by_process[process] = counters;
  return true;
}

bool read_line(std::string_view line, ReadsLook& look) {
  const std::vector<std::string_view> fields = split(line, '\t');
  if (fields[0] == "t") {
    return fields.size() == 2 && to_number(fields[1], look.time_ns);
  }
  if (fields[0] == "p") return read_process(fields, look);
  if (fields[0] != "f" || fields.size() != 4 || !fields[2].starts_with('/') ||
      !fields[3].starts_with('/')) {
    return false;
  }
  look.files.insert(
      {std::string(fields[1]), std::string(fields[2]), std::string(fields[3])});
  return true;
}

std::string folder_of(const std::string& path) {
  return path.substr(0, std::max<size_t>(1, path.rfind('/')));
}

// The folder that holds both a folder and a path.
std::string common_folder(std::string folder, const std::string& path) {
  while (folder != "/" &&
         !(path.starts_with(folder) && path[folder.size()] == '/')) {
    folder = folder_of(folder);
  }
  return folder;
}

// "": the whole mount.
std::string source_of(const std::set<NetworkFile>& files,
                      const std::string& mount) {
  std::string folder, only;
  size_t count = 0;
  for (const NetworkFile& file : files) {
    if (file.mount != mount) continue;
    ++count;
    only = file.path;
    folder = folder.empty() ? folder_of(file.path)
                            : common_folder(folder, file.path);
  }
  if (count == 1) return only;
  return folder.size() <= mount.size() ? "" : folder;
}

}  // namespace

Result<ReadsLook> parse_reads_look(std::string_view text) {
  ReadsLook look;
  for (std::string_view line : split(text, '\n')) {
    if (!line.empty() && !read_line(line, look)) return malformed(line);
  }
  return look;
}

std::optional<NetworkReads> network_reads(const ReadsLook& before,
                                          const ReadsLook& after,
                                          const std::set<NetworkFile>& files,
                                          size_t processes) {
  if (after.time_ns <= before.time_ns || files.empty()) return std::nullopt;
  double bytes = 0, calls = 0;
  size_t both = 0;
  for (const auto& [process, now] : after.by_process) {
    const auto then = before.by_process.find(process);
    // Another process has this number now.
    if (then == before.by_process.end() || now.calls < then->second.calls ||
        now.bytes < then->second.bytes) {
      continue;
    }
    ++both;
    bytes += double(now.bytes - then->second.bytes);
    calls += double(now.calls - then->second.calls);
  }
  if (both == 0 || !(calls > 0)) return std::nullopt;
  std::map<std::string, size_t> of_mount;
  for (const NetworkFile& file : files) ++of_mount[file.mount];
  const auto most = std::max_element(
      of_mount.begin(), of_mount.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  NetworkReads out;
  const double seconds = double(after.time_ns - before.time_ns) * 1e-9;
  out.calls_per_s =
      calls / seconds * double(std::max(processes, both)) / double(both);
  out.bytes_per_call = bytes / calls;
  out.mount = most->first;
  out.source = source_of(files, out.mount);
  for (const NetworkFile& file : files) {
    if (file.mount == out.mount) out.type = file.type;
  }
  return out;
}

}  // namespace penstock
