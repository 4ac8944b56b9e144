#include "bench/submit/two_slurms.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "bench/spawn.h"
#include "common/options.h"

namespace penstock {
namespace {

// The environment without the settings of Slurm and Penstock.
std::vector<std::string> environment(const std::string& slurm_conf) {
  std::vector<std::string> out{"SLURM_CONF=" + slurm_conf};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!text.starts_with("SLURM_") && !text.starts_with("SBATCH_") &&
        !text.starts_with(option_spec(kOptionMode).variable))
      out.emplace_back(text);
  }
  return out;
}

}  // namespace

Result<TwoSlurms> TwoSlurms::start(const std::string& table,
                                   const std::string& socket_path) {
  const std::string script = PENSTOCK_SOURCE "/bench/submit/two_slurms.py";
  if (::access(script.c_str(), R_OK) != 0)
    return system_error(errno, script + " (bench submit needs the sources)");
  int input[2], output[2];
  if (::pipe2(input, O_CLOEXEC) != 0) return system_error(errno, "pipe");
  UniqueFd input_read(input[0]), input_write(input[1]);
  if (::pipe2(output, O_CLOEXEC) != 0) return system_error(errno, "pipe");
  UniqueFd output_read(output[0]), output_write(output[1]);
  Result<pid_t> child =
      spawn({"/usr/bin/python3", script, PENSTOCK_BUILD, table, socket_path},
            environment(""), input_read.get(), output_write.get());
  if (!child) return std::move(child).error();
  TwoSlurms slurms;
  slurms.child_ = *child;
  slurms.to_child_ = std::move(input_write);
  output_write.reset();
  if (Status status = slurms.read_confs(output_read.get()); !status)
    return std::move(status).error();
  return slurms;
}

TwoSlurms::TwoSlurms(TwoSlurms&& other) noexcept
    : child_(std::exchange(other.child_, -1)),
      to_child_(std::move(other.to_child_)),
      with_plugin_(std::move(other.with_plugin_)),
      without_plugin_(std::move(other.without_plugin_)) {}

TwoSlurms::~TwoSlurms() {
  if (child_ < 0) return;
  to_child_.reset();
  ::waitpid(child_, nullptr, 0);
}

Status TwoSlurms::read_confs(int from_child) {
  // No timeout needed: the child limits its own waits and exits on a timeout.
  std::string line;
  char c = 0;
  while (::read(from_child, &c, 1) == 1 && c != '\n') line += c;
  const nlohmann::json confs = nlohmann::json::parse(line, nullptr, false);
  if (!confs.is_object() || !confs.contains("with") ||
      !confs.contains("without") || !confs["with"].is_string() ||
      !confs["without"].is_string())
    return Error{Code::kUnavailable, 0, "the two Slurms did not start"};
  with_plugin_ = confs["with"].get<std::string>();
  without_plugin_ = confs["without"].get<std::string>();
  return Done{};
}

Result<double> submit_held_job_s(const std::string& slurm_conf) {
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto start = std::chrono::steady_clock::now();
  Result<pid_t> process = spawn(
      {"sbatch", "--hold", "--gres=gpu:1", option_flag(kOptionModel) + "=res50",
       "--chdir=/", "--output=/dev/null", "--wrap=true"},
      environment(slurm_conf), nothing.get(), nothing.get());
  if (!process) return std::move(process).error();
  int status = 0;
  ::waitpid(*process, &status, 0);
  const double elapsed_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  if (status != 0)
    return Error{Code::kUnavailable, 0, "sbatch failed in " + slurm_conf};
  return elapsed_s;
}

}  // namespace penstock
