#include "tools/analyze/command_process.h"

#include <poll.h>
#include <signal.h>

#include <fstream>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

CommandProcess shell(const std::string& script,
                     std::vector<std::string> variables = {}) {
  auto process = CommandProcess::start({"sh", "-c", script}, variables);
  REQUIRE(process);
  return *std::move(process);
}

void wait_for_end(CommandProcess& process) {
  for (int i = 0; i < 1000 && !process.has_ended(); ++i) {
    std::vector<pollfd> polled;
    for (int fd : process.fds()) polled.push_back({fd, POLLIN, 0});
    (void)::poll(polled.data(), polled.size(), 10);
    process.read_output();
  }
  REQUIRE(process.has_ended());
}

}  // namespace

TEST_CASE("reports a command's exit and its last output") {
  CommandProcess process = shell("echo one; echo two >&2; exit 3");
  wait_for_end(process);
  CHECK(process.how_it_ended() == "exit code 3");
  CHECK(process.last_lines() == "\n  | one\n  | two");
  CHECK(process.last_lines(1) == "\n  | two");
  CommandProcess killed = shell("kill -9 $$");
  wait_for_end(killed);
  CHECK(killed.how_it_ended() == "signal 9");
  CHECK(killed.last_lines().empty());
}

TEST_CASE("a command gets the added variables and the inherited ones") {
  CommandProcess process =
      shell("echo $PENSTOCK_ANALYZE $HOME", {"PENSTOCK_ANALYZE=x", "HOME=/h"});
  wait_for_end(process);
  CHECK(process.last_lines() == "\n  | x /h");
}

TEST_CASE("a command's long output is read and kept in part") {
  CommandProcess process = shell("yes $(printf '\\033')x | head -c 1000000");
  wait_for_end(process);
  const std::string lines = process.last_lines(5);
  CHECK(lines.size() < 200);
  CHECK(lines.find('\033') == std::string::npos);
}

TEST_CASE("a command that cannot be started is an error") {
  auto process = CommandProcess::start({"/nonexistent/program"}, {});
  REQUIRE_FALSE(process);
  CHECK(process.error().code == Code::kNotFound);
  CHECK(process.error().message.find("/nonexistent/program") !=
        std::string::npos);
}

TEST_CASE("a command ends with all its processes, even if it ignores SIGTERM") {
  const std::string file =
      "/tmp/penstock-command-process-" + std::to_string(::getpid());
  pid_t child = 0;
  {
    CommandProcess process =
        shell("trap '' TERM; sleep 1000 & echo $! > " + file + "; wait; wait");
    for (int i = 0; i < 500 && child == 0; ++i) {
      std::ifstream(file) >> child;
      (void)::poll(nullptr, 0, 10);
    }
    REQUIRE(child > 0);
    process.end();
    CHECK(process.has_ended());
  }
  ::unlink(file.c_str());
  for (int i = 0; i < 500 && ::kill(child, 0) == 0; ++i) {
    (void)::poll(nullptr, 0, 10);
  }
  std::ifstream state("/proc/" + std::to_string(child) + "/stat");
  std::string text;
  std::getline(state, text);
  CHECK((text.empty() || text.find(") Z ") != std::string::npos));
}
