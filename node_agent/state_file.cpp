#include "node_agent/state_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "common/unique_fd.h"
#include "node_agent/messages.h"

namespace penstock {
namespace {

using Json = nlohmann::json;

constexpr const char* kFile = "tasks.json";
constexpr const char* kNewFile = "tasks.json.new";
constexpr off_t kMaxBytes = 64 << 20;

template <size_t N>
void copy_text(const std::string& text, char (&field)[N]) {
  std::memset(field, 0, N);
  std::memcpy(field, text.data(), std::min(text.size(), N));
}

// User-written bytes need not be UTF-8, so they are stored as numbers.
std::vector<int> numbers_of(std::string_view text) {
  return std::vector<int>(text.begin(), text.end());
}

std::string text_of(const Json& numbers) {
  std::string text;
  for (const Json& number : numbers) text += char(number.get<int>());
  return text;
}

template <size_t N>
std::vector<int> bytes_of(const char (&field)[N]) {
  return numbers_of(fixed_text(field));
}

template <size_t N>
void copy_bytes(const Json& bytes, char (&field)[N]) {
  copy_text(text_of(bytes), field);
}

Json options_json(const penstock_wire_options& o) {
  return {{"mode", o.mode},
          {"report_format", o.report_format},
          {"threads", o.threads},
          {"threads_auto", o.threads_auto},
          {"bw_bytes_per_s", o.bw_bytes_per_s},
          {"bw_auto", o.bw_auto},
          {"batch", o.batch},
          {"weight_milli", o.weight_milli},
          {"model", bytes_of(o.model)},
          {"match", bytes_of(o.match)}};
}

void read_options(const Json& json, penstock_wire_options& o) {
  json.at("mode").get_to(o.mode);
  json.at("report_format").get_to(o.report_format);
  json.at("threads").get_to(o.threads);
  json.at("threads_auto").get_to(o.threads_auto);
  json.at("bw_bytes_per_s").get_to(o.bw_bytes_per_s);
  json.at("bw_auto").get_to(o.bw_auto);
  json.at("batch").get_to(o.batch);
  json.at("weight_milli").get_to(o.weight_milli);
  copy_bytes(json.at("model"), o.model);
  copy_bytes(json.at("match"), o.match);
}

Json task_json(const SavedTask& task) {
  return {{"job_id", task.start.job_id},
          {"step_id", task.start.step_id},
          {"task_id", task.start.task_id},
          {"uid", task.start.uid},
          {"gid", task.start.gid},
          {"pid", task.start.pid},
          {"gpus", bytes_of(task.start.gpus)},
          {"job_name", bytes_of(task.start.job_name)},
          {"options", options_json(task.start.options)},
          {"starttime_ticks", task.home.task.starttime_ticks},
          {"cpuset_path", task.home.cpuset_path},
          {"cpu_path", task.home.cpu_path},
          {"blkio_path", task.home.blkio_path},
          {"job_path", task.home.job_path},
          {"affinity", task.home.affinity.to_string()},
          {"sched_policy", task.home.policy.policy},
          {"sched_priority", task.home.policy.priority},
          {"job_started_unix_s", task.job_started_unix_s},
          {"loader_cpus", task.loader_cpus.to_string()},
          {"account", numbers_of(task.account)}};
}

SavedTask read_task(const Json& json) {
  SavedTask task;
  json.at("job_id").get_to(task.start.job_id);
  json.at("step_id").get_to(task.start.step_id);
  json.at("task_id").get_to(task.start.task_id);
  json.at("uid").get_to(task.start.uid);
  json.at("gid").get_to(task.start.gid);
  json.at("pid").get_to(task.start.pid);
  copy_bytes(json.at("gpus"), task.start.gpus);
  copy_bytes(json.at("job_name"), task.start.job_name);
  read_options(json.at("options"), task.start.options);
  task.home.task.tid = task.start.pid;
  json.at("starttime_ticks").get_to(task.home.task.starttime_ticks);
  json.at("cpuset_path").get_to(task.home.cpuset_path);
  json.at("cpu_path").get_to(task.home.cpu_path);
  json.at("blkio_path").get_to(task.home.blkio_path);
  // Absent in the files of older releases.
  task.home.job_path = json.value("job_path", "");
  task.home.affinity =
      CpuSet::parse(json.at("affinity").get<std::string>()).value_or(CpuSet());
  json.at("sched_policy").get_to(task.home.policy.policy);
  json.at("sched_priority").get_to(task.home.policy.priority);
  json.at("job_started_unix_s").get_to(task.job_started_unix_s);
  task.loader_cpus =
      CpuSet::parse(json.value("loader_cpus", "")).value_or(CpuSet());
  // Absent in the files of releases without accounts.
  task.account = text_of(json.value("account", Json::array()));
  return task;
}

}  // namespace

std::string to_json(const std::vector<SavedTask>& tasks) {
  Json list = Json::array();
  for (const SavedTask& task : tasks) list.push_back(task_json(task));
  return Json{{"version", 1}, {"tasks", list}}.dump() + "\n";
}

Result<std::vector<SavedTask>> parse_saved_tasks(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (json.at("version") != 1) return invalid("tasks.json: another version");
    std::vector<SavedTask> tasks;
    for (const Json& task : json.at("tasks")) tasks.push_back(read_task(task));
    return tasks;
  } catch (const std::exception& error) {
    return invalid(std::string("tasks.json: ") + error.what());
  }
}

Status save_tasks(int dir_fd, const std::vector<SavedTask>& tasks) {
  const std::string text = to_json(tasks);
  UniqueFd file(::openat(dir_fd, kNewFile,
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                         0600));
  if (!file) return system_error(errno, kNewFile);
  const ssize_t written = ::write(file.get(), text.data(), text.size());
  if (written != ssize_t(text.size())) {
    const int error = written < 0 ? errno : ENOSPC;
    ::unlinkat(dir_fd, kNewFile, 0);
    return system_error(error, kNewFile);
  }
  if (::renameat(dir_fd, kNewFile, dir_fd, kFile) != 0) {
    return system_error(errno, kFile);
  }
  return Done{};
}

Result<std::vector<SavedTask>> load_tasks(int dir_fd) {
  UniqueFd file(::openat(dir_fd, kFile, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno == ENOENT) return std::vector<SavedTask>();
  if (!file) return system_error(errno, kFile);
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return system_error(errno, kFile);
  if (!S_ISREG(found.st_mode) || found.st_size > kMaxBytes) {
    return invalid("tasks.json: not a regular file of at most 64 MiB");
  }
  std::string text(size_t(found.st_size), '\0');
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  if (size < 0) return system_error(errno, kFile);
  text.resize(size_t(size));
  return parse_saved_tasks(text);
}

}  // namespace penstock
