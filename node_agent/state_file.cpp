#include "node_agent/state_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "common/admin_file.h"
#include "common/options.h"
#include "common/unique_fd.h"
#include "common/whole_file.h"
#include "common/wire_text.h"

namespace penstock {
namespace {

using Json = nlohmann::json;

constexpr const char* kFile = "tasks.json";
constexpr off_t kMaxBytes = 64 << 20;

std::string text_of(const Json& numbers) {
  std::string text;
  for (const Json& number : numbers) text += char(number.get<int>());
  return text;
}

// Appends the fields of an object. Builds no Json, which would take eight times
// as long: a node may have thousands of tasks, and penstockd one thread.
struct Writer {
  std::string& text;

  void begin(const char* name) const {
    if (text.back() != '{') text += ',';
    text.append(1, '"').append(name).append("\":");
  }
  template <class T>
  void operator()(const char* name, const T& field) const {
    begin(name);
    if constexpr (std::is_integral_v<T>) {
      text += std::to_string(field);
    } else {
      text += Json(field).dump();
    }
  }
  template <size_t N>
  void operator()(const char* name, const char (&field)[N]) const {
    (*this)(name, fixed_text(field));
  }
  // User-written bytes need not be UTF-8, so they are stored as numbers.
  void operator()(const char* name, std::string_view bytes) const {
    begin(name);
    text += '[';
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (i > 0) text += ',';
      text += std::to_string(int(bytes[i]));
    }
    text += ']';
  }
  void operator()(const char* name, const CpuSet& field) const {
    (*this)(name, field.to_string());
  }
  void operator()(const char* name, const penstock_wire_options& field) const {
    begin(name);
    text += '{';
    visit_option_fields(field, *this);
    text += '}';
  }
};

// A field that the object lacks is an error.
struct Reader {
  const Json& json;

  template <class T>
  void operator()(const char* name, T& field) const {
    json.at(name).get_to(field);
  }
  template <size_t N>
  void operator()(const char* name, char (&field)[N]) const {
    set_field(field, text_of(json.at(name)));
  }
  void operator()(const char* name, CpuSet& field) const {
    field = CpuSet::parse(json.at(name).get<std::string>()).value_or(CpuSet());
  }
  void operator()(const char* name, penstock_wire_options& field) const;
};

// Files of older releases lack the later options.
struct OptionReader {
  const Json& json;

  template <class T>
  void operator()(const char* name, T& field) const {
    if (json.contains(name)) Reader{json}(name, field);
  }
};

void Reader::operator()(const char* name, penstock_wire_options& field) const {
  visit_option_fields(field, OptionReader{json.at(name)});
}

template <class Task, class Visit>
void visit_task(Task& task, const Visit& visit) {
  visit("job_id", task.start.job_id);
  visit("step_id", task.start.step_id);
  visit("task_id", task.start.task_id);
  visit("uid", task.start.uid);
  visit("gid", task.start.gid);
  visit("pid", task.start.pid);
  visit("gpus", task.start.gpus);
  visit("job_name", task.start.job_name);
  visit("options", task.start.options);
  visit("starttime_ticks", task.home.task.starttime_ticks);
  visit("cpuset_path", task.home.cpuset_path);
  visit("cpu_path", task.home.cpu_path);
  visit("blkio_path", task.home.blkio_path);
  visit("affinity", task.home.affinity);
  visit("sched_policy", task.home.policy.policy);
  visit("sched_priority", task.home.policy.priority);
  visit("job_started_unix_s", task.job_started_unix_s);
}

void append(const SavedTask& task, std::string& text) {
  text += '{';
  const Writer write{text};
  write("job_path", task.home.job_path);
  write("loader_cpus", task.loader_cpus);
  write("pinned_tids", task.pinned_tids);
  write("account", std::string_view(task.origin.account));
  write("partition", std::string_view(task.origin.partition));
  std::vector<std::pair<pid_t, uint64_t>> hanging;
  for (const TaskId& process : task.hanging) {
    hanging.emplace_back(process.tid, process.starttime_ticks);
  }
  write("hanging", hanging);
  visit_task(task, write);
  text += '}';
}

SavedTask read_task(const Json& json) {
  SavedTask task;
  visit_task(task, Reader{json});
  task.home.task.tid = task.start.pid;
  // Absent in the files of older releases.
  task.home.job_path = json.value("job_path", "");
  task.loader_cpus =
      CpuSet::parse(json.value("loader_cpus", "")).value_or(CpuSet());
  task.pinned_tids = json.value("pinned_tids", std::set<pid_t>());
  task.origin.account = text_of(json.value("account", Json::array()));
  task.origin.partition = text_of(json.value("partition", Json::array()));
  for (const Json& process : json.value("hanging", Json::array())) {
    task.hanging.push_back(
        {process.at(0).get<pid_t>(), process.at(1).get<uint64_t>()});
  }
  return task;
}

}  // namespace

std::string to_json(const std::vector<SavedTask>& tasks) {
  std::string text = R"({"version":1,"tasks":[)";
  for (const SavedTask& task : tasks) {
    if (text.back() == '}') text += ',';
    append(task, text);
  }
  return text + "]}\n";
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
  return replace_file(
      {.dir_fd = dir_fd, .name = kFile, .aside = "tasks.json.new"},
      to_json(tasks));
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
  std::string text;
  const int error = read_whole(file.get(), kMaxBytes, text);
  if (error != 0) return system_error(error, kFile);
  return parse_saved_tasks(text);
}

}  // namespace penstock
