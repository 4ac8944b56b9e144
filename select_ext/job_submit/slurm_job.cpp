#include "select_ext/job_submit/slurm_job.h"

#include <cstdio>
#include <cstring>

namespace penstock::job_submit {
namespace {

// slurmctld's limit (_test_job_desc_fields): it refuses a job with a longer
// text.
constexpr size_t kMaxTresBytes = 1023;

// No client sends an environment with more entries.
constexpr uint32_t kMaxEntries = 1 << 20;

// An empty text with room for `length` bytes; nullptr if memory is short.
char* new_text(size_t length) {
  return static_cast<char*>(
      ::slurm_xcalloc(length + 1, 1, true, true, __FILE__, __LINE__, __func__));
}

uint32_t given(uint32_t value) { return value >= NO_VAL ? 0 : value; }
uint32_t given16(uint16_t value) { return value >= NO_VAL16 ? 0 : value; }

std::span<const char* const> entries(char* const* list, uint32_t count) {
  if (list == nullptr || count > kMaxEntries) return {};
  return {list, count};
}

}  // namespace

static_assert(NO_VAL < INFINITE && NO_VAL16 < INFINITE16);

JobRequest request_of(const job_desc_msg_t& job) {
  JobRequest request;
  request.tres_per_job = text_of(job.tres_per_job);
  request.tres_per_node = text_of(job.tres_per_node);
  request.tres_per_socket = text_of(job.tres_per_socket);
  request.tres_per_task = text_of(job.tres_per_task);
  request.nodes = given(job.min_nodes);
  request.tasks = given(job.num_tasks);
  request.tasks_per_node = given16(job.ntasks_per_node);
  request.sockets_per_node = given16(job.sockets_per_node);
  request.is_batch = job.script != nullptr;
  request.is_het = job.het_job_offset != NO_VAL;
  return request;
}

std::span<const char* const> control_environment_of(const job_desc_msg_t& job) {
  return entries(job.spank_job_env, job.spank_job_env_size);
}

std::span<const char* const> batch_environment_of(const job_desc_msg_t& job) {
  return entries(job.environment, job.env_size);
}

bool append_text(char*& field, std::string_view separator,
                 std::string_view text, size_t most) {
  const std::string_view before = text_of(field);
  if (before.empty()) separator = "";
  const size_t length = before.size() + separator.size() + text.size();
  if (length > most) return false;
  char* joined = new_text(length);
  if (joined == nullptr) return false;
  char* end = joined;
  for (std::string_view part : {before, separator, text}) {
    std::memcpy(end, part.data(), part.size());
    end += part.size();
  }
  ::slurm_xfree(reinterpret_cast<void**>(&field));
  field = joined;
  return true;
}

bool add_gres(const Amounts& amounts, job_desc_msg_t& job) {
  char text[128];
  int length = 0;
  const auto add = [&](std::string_view name, uint64_t count) {
    if (count == 0) return;
    length +=
        std::snprintf(text + length, sizeof text - length, "%s%s%s:%llu",
                      length == 0 ? "" : ",", slurm_release::kGresKind,
                      name.data(), static_cast<unsigned long long>(count));
  };
  add(kLoaderCpu, amounts.loader_cpu);
  add(kLoaderBw, amounts.loader_bw);
  if (length == 0) return false;
  return append_text(job.tres_per_node, ",",
                     {text, static_cast<size_t>(length)}, kMaxTresBytes);
}

bool add_variable(std::string_view name, std::string_view value,
                  job_desc_msg_t& job) {
  const auto old = batch_environment_of(job);
  if (old.empty()) return false;
  for (const char* entry : old) {
    const std::string_view text = text_of(entry);
    if (text.starts_with(name) && text.substr(name.size()).starts_with('='))
      return false;
  }
  // The list ends with a NULL that env_size does not count.
  auto** list = static_cast<char**>(::slurm_xcalloc(
      old.size() + 2, sizeof(char*), true, true, __FILE__, __LINE__, __func__));
  char* entry = nullptr;
  if (list == nullptr || !append_text(entry, "", name, SIZE_MAX) ||
      !append_text(entry, "=", value, SIZE_MAX)) {
    ::slurm_xfree(reinterpret_cast<void**>(&entry));
    ::slurm_xfree(reinterpret_cast<void**>(&list));
    return false;
  }
  std::memcpy(list, job.environment, old.size() * sizeof(char*));
  list[old.size()] = entry;
  ::slurm_xfree(reinterpret_cast<void**>(&job.environment));
  job.environment = list;
  ++job.env_size;
  return true;
}

void set_message(char** message, std::string_view text) {
  if (message == nullptr) return;
  append_text(*message, "\n", text, SIZE_MAX);
}

}  // namespace penstock::job_submit
