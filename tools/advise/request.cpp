#include "tools/advise/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>

#include "common/options.h"
#include "common/units.h"

namespace penstock::advise {
namespace {

constexpr int kMost = 1'000'000;  // of nodes, tasks, CPUs and GPUs
constexpr double kMebibyte = 1024.0 * 1024;

// Options that advice reads, and sbatch's variables for them.
constexpr struct {
  const char* name;
  const char* variable;  // nullptr: there is none
} kRead[] = {
    {"job-name", "SBATCH_JOB_NAME"},
    {"partition", "SBATCH_PARTITION"},
    {"nodes", nullptr},
    {"ntasks", nullptr},
    {"ntasks-per-node", nullptr},
    {"ntasks-per-gpu", nullptr},
    {"cpus-per-task", nullptr},
    {"cpus-per-gpu", "SBATCH_CPUS_PER_GPU"},
    {"gpus", "SBATCH_GPUS"},
    {"gpus-per-node", "SBATCH_GPUS_PER_NODE"},
    {"gpus-per-task", "SBATCH_GPUS_PER_TASK"},
    {"gres", "SBATCH_GRES"},
    {"mem", "SBATCH_MEM_PER_NODE"},
    {"mem-per-cpu", "SBATCH_MEM_PER_CPU"},
    {"mem-per-gpu", "SBATCH_MEM_PER_GPU"},
    {"wrap", nullptr},
};
// Options that decide on which nodes the job may run, or how many CPUs it gets.
constexpr const char* kLeftOut[] = {
    "constraint",        "nodelist",         "exclude",
    "reservation",       "gpus-per-socket",  "ntasks-per-core",
    "ntasks-per-socket", "threads-per-core", "tres-per-task",
    "exclusive",         "nodefile",         "array"};

class Given {
 public:
  void add(const GivenOption& option) {
    // Both names are one option of sbatch's.
    const bool is_alias = option.name == "tasks-per-node";
    last_[is_alias ? "ntasks-per-node" : option.name] = option;
  }
  void add_variable(const char* name, const char* variable,
                    const Environment& environment) {
    const char* value = variable == nullptr ? nullptr : environment(variable);
    if (value != nullptr) add({name, value, variable});
  }

  const GivenOption* find(const std::string& name) const {
    const auto found = last_.find(name);
    return found == last_.end() ? nullptr : &found->second;
  }
  std::string text(const std::string& name) const {
    const GivenOption* found = find(name);
    return found == nullptr ? "" : found->value;
  }

 private:
  std::map<std::string, GivenOption> last_;
};

Error refuse(const GivenOption& it, const std::string& why) {
  return invalid(printable(it.where, 200) + ": --" + it.name + "=" +
                 printable(it.value) + ": " + why);
}

std::optional<int> whole(std::string_view text) {
  int value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_all = error == std::errc() && end == text.data() + text.size();
  if (!is_all || value < 1 || value > kMost) return std::nullopt;
  return value;
}

// The numbers of a request; an absent option keeps the default.
class Numbers {
 public:
  explicit Numbers(const Given& given) : given_(given) {}

  std::optional<int> count(const char* name) {
    const GivenOption* it = given_.find(name);
    if (it == nullptr) return std::nullopt;
    const std::optional<int> value = whole(it->value);
    if (!value) fail(refuse(*it, "allowed: 1 to 1000000"));
    return value;
  }

  // "2", or "2-4": at least 2.
  std::optional<int> nodes() {
    const GivenOption* it = given_.find("nodes");
    if (it == nullptr) return std::nullopt;
    const std::string_view text = it->value;
    const size_t dash = text.find('-');
    const std::optional<int> least = whole(text.substr(0, dash));
    const bool is_range = dash != text.npos;
    if (!least || (is_range && !whole(text.substr(dash + 1)))) {
      fail(refuse(*it, "allowed: N, or N-M"));
    }
    return least;
  }

  // "2", or "a100:2", of which several may stand in a list.
  std::optional<GresGpus> gpus(const char* name) {
    const GivenOption* it = given_.find(name);
    if (it == nullptr) return std::nullopt;
    GresGpus out;
    for (const GresGpus& one : gpus_of_gres("gpu:" + it->value)) {
      out.count = int(std::min(int64_t{out.count} + one.count, int64_t{kMost}));
      out.type = one.type;
    }
    if (out.count == 0) fail(refuse(*it, "allowed: N, or TYPE:N"));
    return out;
  }

  // Bytes; 0 for none.
  double bytes(const char* name) {
    const GivenOption* it = given_.find(name);
    if (it == nullptr || it->value == "0") return 0;
    const bool is_plain =
        !it->value.empty() &&
        it->value.find_first_not_of("0123456789") == std::string::npos;
    const Result<uint64_t> value =
        parse_size_bytes(is_plain ? it->value + "M" : it->value);
    if (!value) fail(refuse(*it, "allowed: a size such as 4096, 16G"));
    return value ? double(*value) : 0;
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }

  const Given& given_;
  std::optional<Error> error_;
};

int product(int a, int b) {
  return int(std::min(int64_t{a} * b, int64_t{kMost}));
}

int ceiling(int amount, int parts) { return (amount + parts - 1) / parts; }

void set_gpus(const Given& given, Numbers& numbers, Request& out) {
  const auto set = [&](const std::optional<GresGpus>& gpus, int count) {
    if (!gpus || gpus->count == 0) return;
    out.gpus_per_node = count;
    out.gpu_type = gpus->type;
  };
  for (const GresGpus& gpus : gpus_of_gres(given.text("gres"))) {
    set(gpus, gpus.count);
  }
  const auto all = numbers.gpus("gpus");
  if (all) out.gpus = all->count;
  set(all, all ? ceiling(all->count, out.nodes) : 0);
  const auto of_task = numbers.gpus("gpus-per-task");
  if (of_task) {
    out.gpus = product(of_task->count, product(out.nodes, out.tasks_per_node));
  }
  set(of_task, of_task ? product(of_task->count, out.tasks_per_node) : 0);
  const auto of_node = numbers.gpus("gpus-per-node");
  if (of_node) out.gpus = 0;
  set(of_node, of_node ? of_node->count : 0);
}

void set_layout(const Given& given, Numbers& numbers, Request& out) {
  out.nodes = numbers.nodes().value_or(1);
  const auto tasks = numbers.count("ntasks");
  const auto per_node = numbers.count("ntasks-per-node");
  if (tasks && per_node && given.find("nodes") == nullptr) {
    out.nodes = ceiling(*tasks, *per_node);
  }
  out.tasks_per_node = per_node ? *per_node
                       : tasks  ? ceiling(*tasks, out.nodes)
                                : 1;
  out.is_spread = given.find("nodes") == nullptr && !per_node;
  set_gpus(given, numbers, out);
  const auto per_gpu = numbers.count("ntasks-per-gpu");
  if (per_gpu && !tasks && !per_node && out.gpus_per_node > 0) {
    out.tasks_per_node = product(*per_gpu, out.gpus_per_node);
  }
  const auto cpus = numbers.count("cpus-per-task");
  const auto cpus_of_gpu = numbers.count("cpus-per-gpu");
  if (cpus) {
    out.cpus_per_task = *cpus;
  } else if (cpus_of_gpu && out.gpus_per_node > 0) {
    out.cpus_option = "--cpus-per-gpu";
    out.cpus_per_task = std::max(
        1, product(*cpus_of_gpu, out.gpus_per_node) / out.tasks_per_node);
  }
}

void set_memory(Numbers& numbers, Request& out) {
  const double of_node = numbers.bytes("mem");
  const double of_cpu = numbers.bytes("mem-per-cpu");
  const double of_gpu = numbers.bytes("mem-per-gpu");
  if (of_node > 0) {
    out.memory_bytes = of_node;
  } else if (of_cpu > 0) {
    out.memory_option = "--mem-per-cpu";
    out.memory_bytes_per_cpu = of_cpu;
  } else if (of_gpu > 0) {
    out.memory_option = "--mem-per-gpu";
    out.memory_bytes = of_gpu * out.gpus_per_node;
  }
}

void set_names(const Given& given, const SbatchLine& line,
               const std::optional<Script>& script, Request& out) {
  out.partition = given.text("partition");
  out.job_name = given.text("job-name");
  if (script) {
    if (out.job_name.empty()) {
      out.job_name = script->path.substr(script->path.rfind('/') + 1);
    }
    out.command = script->absolute;
    for (size_t i = 1; i < line.rest.size(); ++i) {
      out.command += " " + line.rest[i];
    }
  } else if (out.job_name.empty()) {
    out.job_name = "wrap";
  }
}

Status set_loader(const Given& given, Request& out) {
  penstock_wire_options options{};
  for (int i = 0; i < kOptionCount; ++i) {
    const GivenOption* it = given.find(option_spec(i).name);
    if (it == nullptr) continue;
    const Status status =
        apply_option(i, it->value, {.max_weight = 1e6}, options);
    if (!status) return Error(status.error()).wrap(it->where);
  }
  out.model = options.model;
  out.batch = int(std::min<uint32_t>(options.batch, INT32_MAX));
  out.bandwidth_bytes_per_s = double(options.bw_bytes_per_s);
  return Done{};
}

void set_ignored(const Given& given, std::vector<std::string> unknown,
                 Request& out) {
  for (const char* name : kLeftOut) {
    if (given.find(name) != nullptr) {
      out.ignored.push_back("--" + std::string(name));
    }
  }
  std::sort(unknown.begin(), unknown.end());
  unknown.erase(std::unique(unknown.begin(), unknown.end()), unknown.end());
  for (const std::string& word : unknown)
    out.ignored.push_back(printable(word));
}

}  // namespace

Result<Request> make_request(const SbatchLine& line,
                             const std::optional<Script>& script,
                             const Environment& environment) {
  Given given;
  for (int i = 0; i < kOptionCount; ++i) {
    const OptionSpec& spec = option_spec(i);
    given.add_variable(spec.name, spec.variable, environment);
  }
  SbatchLine of_script;
  if (script) {
    Status added = add_script_options(script->text, script->path, of_script);
    if (!added) return std::move(added).error();
  }
  for (const GivenOption& option : of_script.options) given.add(option);
  for (const auto& it : kRead) {
    given.add_variable(it.name, it.variable, environment);
  }
  for (const GivenOption& option : line.options) given.add(option);

  Request out;
  Numbers numbers(given);
  set_layout(given, numbers, out);
  set_memory(numbers, out);
  if (numbers.error()) return *numbers.error();
  if (int64_t{out.nodes} * out.tasks_per_node > kMost) {
    return invalid(
        fmt::format("{} nodes with {} tasks each: allowed: at most "
                    "{} tasks",
                    out.nodes, out.tasks_per_node, kMost));
  }
  set_names(given, line, script, out);
  Status loader = set_loader(given, out);
  if (!loader) return std::move(loader).error();
  std::vector<std::string> unknown = line.unknown;
  unknown.insert(unknown.end(), of_script.unknown.begin(),
                 of_script.unknown.end());
  set_ignored(given, std::move(unknown), out);
  return out;
}

std::vector<GresGpus> gpus_of_gres(std::string_view list) {
  std::vector<GresGpus> out;
  while (!list.empty()) {
    // A comma may also stand between the brackets: "gpu:4(IDX:0,2)".
    size_t end = 0;
    int depth = 0;
    while (end < list.size() && (list[end] != ',' || depth > 0)) {
      depth += list[end] == '(' ? 1 : list[end] == ')' ? -1 : 0;
      ++end;
    }
    std::string_view one = list.substr(0, end);
    list.remove_prefix(std::min(list.size(), end + 1));
    one = one.substr(0, one.find('('));
    for (const std::string_view prefix : {"gres:", "gres/"}) {
      if (one.starts_with(prefix)) one.remove_prefix(prefix.size());
    }
    if (one == "gpu") out.push_back({"", 1});
    if (!one.starts_with("gpu:")) continue;
    one.remove_prefix(4);
    const size_t colon = one.rfind(':');
    const std::string_view last =
        colon == one.npos ? one : one.substr(colon + 1);
    if (const auto count = whole(last)) {
      out.push_back(
          {std::string(colon == one.npos ? "" : one.substr(0, colon)), *count});
    } else if (colon == one.npos && !one.empty() &&
               one.find_first_not_of("0123456789") != one.npos) {
      out.push_back({std::string(one), 1});
    }
  }
  return out;
}

}  // namespace penstock::advise
