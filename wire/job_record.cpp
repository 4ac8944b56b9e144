#include "wire/job_record.h"

#include <fmt/format.h>

#include "common/utf8.h"

namespace penstock {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string without_numbers(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!is_digit(text[i])) {
      out += text[i];
    } else if (i == 0 || !is_digit(text[i - 1])) {
      out += '#';
    }
  }
  return out;
}

}  // namespace

std::string job_label(const JobRecord& job) {
  std::string label = job.job_id == 0 ? "-" : std::to_string(job.job_id);
  if (job.array_job_id && job.array_task_id) {
    label = fmt::format("{}_{}", *job.array_job_id, *job.array_task_id);
  } else if (job.het_job_id && job.het_offset) {
    label = fmt::format("{}+{}", *job.het_job_id, *job.het_offset);
  }
  if (job.restart_count > 0) label += fmt::format(" r{}", job.restart_count);
  return label;
}

std::string text_hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a's offset basis and prime
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

std::string job_kind(std::string_view name, std::string_view command) {
  return kinds_of_name(name) + text_hash(without_numbers(command));
}

std::string kinds_of_name(std::string_view name) {
  return std::string(utf8_cut(without_numbers(name), kMaxKindNameBytes)) + ":";
}

}  // namespace penstock
