#include "cgroup/v1_parse.h"

#include <string>

#include "common/text_scan.h"

namespace penstock {
namespace {

constexpr std::string_view kJobPrefix = "job_";

}  // namespace

Result<uint64_t> parse_io_read_bytes(std::string_view text,
                                     std::string_view device) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (take_word(line) == device && take_word(line) == "Read") {
      return parse_uint(take_word(line), 0, UINT64_MAX);
    }
  }
  return uint64_t{0};
}

Result<uint64_t> parse_cpu_usage(std::string_view text) {
  const std::string_view word = take_word(text);
  if (word.empty()) return invalid("no CPU time in an empty file");
  return parse_uint(word, 0, UINT64_MAX);
}

bool is_device(std::string_view text) {
  size_t colon = text.find(':');
  return colon != text.npos &&
         parse_uint(text.substr(0, colon), 0, UINT32_MAX).ok() &&
         parse_uint(text.substr(colon + 1), 0, UINT32_MAX).ok();
}

std::string job_dir(JobId job) {
  return std::string(kJobPrefix) + std::to_string(job);
}

std::optional<JobId> parse_job_dir(std::string_view name) {
  if (!name.starts_with(kJobPrefix)) return {};
  auto id = parse_uint(name.substr(kJobPrefix.size()), 0, UINT32_MAX);
  if (!id || name != job_dir(static_cast<JobId>(*id))) return {};
  return static_cast<JobId>(*id);
}

std::string job_group_of(std::string_view path) {
  const size_t component = path.find("/job_");
  if (component == std::string_view::npos) return "";
  const size_t end = path.find('/', component + 1);
  return std::string(path.substr(0, end));
}

}  // namespace penstock
