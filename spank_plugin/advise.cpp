#include "spank_plugin/advise.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "common/options.h"
#include "common/unique_fd.h"
#include "spank_plugin/slurm_api.h"

namespace penstock::spank {
namespace {

constexpr const char* kProgram = "penstock";

// This process's words, each with a NUL behind it; "": not readable.
std::string own_words() {
  std::string out;
  const UniqueFd file(::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
  if (!file) return out;
  char part[4096];
  ssize_t size = 0;
  while ((size = ::read(file.get(), part, sizeof part)) > 0) {
    out.append(part, size_t(size));
  }
  return out;
}

bool is_sbatch(std::string_view program) {
  return program.substr(program.rfind('/') + 1) == "sbatch";
}

// Its standard output is our standard error. Returns an errno value.
int start(char* const* argv, pid_t& child) {
  posix_spawn_file_actions_t actions;
  int error = ::posix_spawn_file_actions_init(&actions);
  if (error != 0) return error;
  error = ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO,
                                             STDOUT_FILENO);
  if (error == 0) {
    error = ::posix_spawnp(&child, kProgram, &actions, nullptr, argv, environ);
  }
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Whether the child ended in time.
bool wait_for(pid_t child) {
  constexpr uint64_t kMs_ns = 1'000'000;
  const uint64_t until_ns = monotonic_ns() + kAdvise_ms * kMs_ns;
  while (::waitpid(child, nullptr, WNOHANG) == 0) {
    if (monotonic_ns() >= until_ns) return false;
    const timespec pause{0, 10 * kMs_ns};
    (void)::nanosleep(&pause, nullptr);
  }
  return true;
}

}  // namespace

void print_advice() {
  std::string words = own_words();
  if (words.empty()) return;
  if (!is_sbatch(words.c_str())) {
    // A job's steps inherit the flag.
    if (std::getenv("SLURM_JOB_ID") != nullptr) return;
    slurm_info("penstock: --%s: left out: it goes with sbatch only",
               kAdviseOption);
    return;
  }
  char program[] = "penstock", command[] = "advise", mark[] = "--";
  std::vector<char*> argv = {program, command, mark};
  for (size_t at = words.find('\0') + 1; at < words.size();
       at = words.find('\0', at) + 1) {
    argv.push_back(&words[at]);
  }
  argv.push_back(nullptr);
  pid_t child = -1;
  const int error = start(argv.data(), child);
  if (error != 0) {
    slurm_error("penstock: --%s: %s: %s", kAdviseOption, kProgram,
                std::strerror(error));
    return;
  }
  if (!wait_for(child)) {
    ::kill(child, SIGKILL);
    // It may hang in the kernel, so that it is not waited for.
    (void)::waitpid(child, nullptr, WNOHANG);
    slurm_error("penstock: --%s: no advice within %d s", kAdviseOption,
                kAdvise_ms / 1000);
  }
}

}  // namespace penstock::spank
