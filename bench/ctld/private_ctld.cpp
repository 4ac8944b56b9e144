#include "bench/ctld/private_ctld.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/clock.h"
#include "common/unique_fd.h"
#include "link/credential.h"
#include "tools/penstock/bench_figures.h"

namespace penstock {
namespace {

constexpr uint64_t kStart_ns = 20'000'000'000;

// The child is killed when this process dies. Its output goes to a file.
pid_t spawn(const std::vector<std::string>& words, const std::string& log) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ::close_range(3, ~0U, 0);
  std::vector<char*> argv;
  for (const std::string& word : words) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

// The path beside this program if it exists, else the name for PATH.
std::string program(const std::string& name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto beside = self.parent_path() / name;
  return !error && std::filesystem::exists(beside, error) ? beside.string()
                                                          : name;
}

// A port that nothing listens on at present.
int free_port() {
  const UniqueFd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(probe.get(), any, size) != 0 ||
      ::getsockname(probe.get(), any, &size) != 0) {
    return 0;
  }
  return ntohs(address.sin_port);
}

void end(pid_t pid) {
  if (pid <= 0) return;
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

double cpu_s_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string word;
  double ticks = 0;
  // The name in parentheses has no spaces, because these are our own programs.
  for (int i = 1; i <= 15 && file >> word; ++i) {
    if (i >= 14) ticks += std::atof(word.c_str());
  }
  return ticks / double(::sysconf(_SC_CLK_TCK));
}

}  // namespace

PrivateCtld::PrivateCtld(PrivateCtld&& other) noexcept
    : directory_(std::exchange(other.directory_, "")),
      address_(std::move(other.address_)),
      munged_(std::exchange(other.munged_, -1)),
      ctld_(std::exchange(other.ctld_, -1)) {}

PrivateCtld::~PrivateCtld() {
  end(ctld_);
  end(munged_);
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

Result<PrivateCtld> PrivateCtld::start(const std::vector<std::string>& lines) {
  PrivateCtld it;
  char name[] = "/tmp/penstock-bench-XXXXXX";
  if (::mkdtemp(name) == nullptr) return system_error(errno, name);
  it.directory_ = name;
  Status done = it.start_munged();
  if (done) done = it.write_config(lines);
  if (done) done = it.start_ctld();
  if (!done) return std::move(done).error();
  return it;
}

Status PrivateCtld::start_munged() {
  const std::string key = directory_ + "/munge.key";
  std::string text;
  for (int i = 0; i < 8; ++i) text += fmt::format("{:016x}", random_session());
  Status written = write_text(key, text);
  if (!written) return written;
  std::filesystem::permissions(key, std::filesystem::perms::owner_read);
  munged_ = spawn(
      {"munged", "--foreground", "--force", "--key-file=" + key,
       "--socket=" + munge_socket(), "--pid-file=" + directory_ + "/munged.pid",
       "--seed-file=" + directory_ + "/munge.seed"},
      directory_ + "/munged.log");
  MungeCredentials munge(munge_socket());
  const uint64_t deadline_ns = monotonic_ns() + kStart_ns;
  while (!munge.encode("", kAnyUid, 60)) {
    if (monotonic_ns() > deadline_ns) {
      return Error{Code::kUnavailable, 0,
                   "munged does not come up; is the package munge installed?"};
    }
    ::poll(nullptr, 0, 20);
  }
  return Done{};
}

Status PrivateCtld::write_config(const std::vector<std::string>& lines) {
  address_ = fmt::format("127.0.0.1:{}", free_port());
  std::string text = fmt::format(
      "Controller={}\nControllerStateDir={}/state\nMungeSocket={}\n", address_,
      directory_, munge_socket());
  for (const std::string& line : lines) text += line + "\n";
  const std::string path = directory_ + "/penstock.conf";
  Status written = write_text(path, text);
  if (!written) return written;
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  return Done{};
}

Status PrivateCtld::start_ctld() {
  ctld_ = spawn({program("penstockctld"), "-f", directory_ + "/penstock.conf",
                 "-c", address_},
                directory_ + "/penstockctld.log");
  if (ctld_ < 0) return system_error(errno, "penstockctld");
  return Done{};
}

Status PrivateCtld::kill_and_restart() {
  end(ctld_);
  return start_ctld();
}

double PrivateCtld::ctld_cpu_s() const { return cpu_s_of(ctld_); }
double PrivateCtld::munged_cpu_s() const { return cpu_s_of(munged_); }

double PrivateCtld::ctld_memory_mb() const {
  std::ifstream file(fmt::format("/proc/{}/status", ctld_));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) {
      return std::atof(line.c_str() + 6) / 1024;
    }
  }
  return 0;
}

}  // namespace penstock
