#include "bench/script.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <ostream>

#include "bench/figures.h"
#include "bench/spawn.h"
#include "common/unique_fd.h"

namespace penstock {
namespace {

volatile pid_t script_pid = 0;

void pass_on(int number) { ::kill(script_pid, number); }

// The script removes its files and processes, so wait for its end. The terminal
// sends Ctrl-C to it as well; forward other termination signals.
class PassedSignals {
 public:
  explicit PassedSignals(pid_t script) {
    script_pid = script;
    ::signal(SIGINT, SIG_IGN);
    for (int number : {SIGTERM, SIGHUP}) ::signal(number, pass_on);
  }
  ~PassedSignals() {
    for (int number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_DFL);
  }
  PassedSignals(const PassedSignals&) = delete;
  PassedSignals& operator=(const PassedSignals&) = delete;
};

std::vector<std::string> environment() {
  std::vector<std::string> out{"PYTHONPATH=" PENSTOCK_SOURCE};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("PYTHONPATH=")) {
      out.emplace_back(*entry);
    }
  }
  return out;
}

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = ::read(fd, buffer, sizeof buffer)) > 0) {
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

std::vector<std::string> command_of(const BenchScript& script) {
  std::vector<std::string> out{"/usr/bin/python3", "-B", "-m",
                               "bench." + script.name, PENSTOCK_BUILD};
  out.insert(out.end(), script.arguments.begin(), script.arguments.end());
  return out;
}

Result<ScriptEnd> run_script(const BenchScript& script) {
  const std::string file =
      PENSTOCK_SOURCE "/bench/" + script.name + "/__main__.py";
  if (::access(file.c_str(), R_OK) != 0) {
    return system_error(
        errno, file + " (bench " + script.name + " needs the sources)");
  }
  int output[2];
  if (::pipe2(output, O_CLOEXEC) != 0) return system_error(errno, "pipe");
  const UniqueFd output_read(output[0]);
  UniqueFd output_write(output[1]);
  Result<pid_t> child =
      spawn(command_of(script), environment(), -1, output_write.get());
  if (!child) return std::move(child).error();
  const PassedSignals passed(*child);
  output_write.reset();
  std::string text = read_all(output_read.get());
  int status = 0;
  while (::waitpid(*child, &status, 0) < 0 && errno == EINTR) {
  }
  return ScriptEnd{std::move(text), status == 0};
}

Result<std::vector<BenchFigure>> parse_figures(const std::string& name,
                                               const std::string& text) {
  try {
    std::vector<BenchFigure> out;
    for (const auto& one : nlohmann::json::parse(text)) {
      out.push_back({one.at("name"), one.at("value"), one.at("unit"),
                     one.at("spread"), one.at("runs")});
    }
    return out;
  } catch (const nlohmann::json::exception& error) {
    return Error{Code::kIo, 0,
                 "figures of bench " + name + ": " + error.what()};
  }
}

}  // namespace

Status show_figures(const BenchScript& script, const ScriptEnd& end,
                    const std::string& json_file, Terminal& terminal) {
  const Error failed{
      Code::kUnavailable, 0,
      "bench " + script.name + " did not finish; its output is removed"};
  if (!end.is_whole && end.output.empty()) return failed;
  Result<std::vector<BenchFigure>> figures =
      parse_figures(script.name, end.output);
  if (!figures) return std::move(figures).error();
  Status published =
      publish_figures(script.name, *figures, json_file, terminal);
  return published && !end.is_whole ? Status(failed) : published;
}

Status run_bench_script(const BenchScript& script, const std::string& json_file,
                        Terminal& terminal) {
  Result<ScriptEnd> end = run_script(script);
  if (!end) return std::move(end).error();
  return show_figures(script, *end, json_file, terminal);
}

}  // namespace penstock
