#include "loader/train/rank_limits.h"

#include <dirent.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "common/clock.h"
#include "common/cpu_affinity.h"
#include "common/protocol.h"
#include "common/socket_call.h"
#include "common/unique_fd.h"
#include "common/units.h"

namespace penstock {
namespace {

constexpr uint64_t kRenew_ns =
    uint64_t{PENSTOCK_LIMIT_LAPSES_S} * 1'000'000'000 / 3;

std::vector<pid_t> own_threads() {
  std::vector<pid_t> tids;
  DIR* folder = ::opendir("/proc/self/task");
  if (folder == nullptr) return tids;
  while (const dirent* entry = ::readdir(folder)) {
    if (const int tid = std::atoi(entry->d_name); tid > 0) tids.push_back(tid);
  }
  ::closedir(folder);
  return tids;
}

// Index of this rank's first CPU. Ranks of a node may share an affinity mask,
// so each takes CPUs at its SLURM_LOCALID.
int first_cpu(int wanted, int all) {
  const char* text = std::getenv("SLURM_LOCALID");
  const auto local = parse_uint(text ? text : "", 0, 65535);
  const char* each = std::getenv("SLURM_CPUS_PER_TASK");
  const auto cpus = parse_uint(each ? each : "", 1, 4096);
  if (!local || !cpus) return 0;
  const int first = static_cast<int>(*local * *cpus);
  return first + wanted <= all ? first : 0;
}

constexpr int kAsk_s = 1;

UniqueFd connect_to(const std::string& path, uint64_t deadline_ns) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return UniqueFd();
  path.copy(address.sun_path, path.size());
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const timeval timeout{kAsk_s, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  const int connected = call_until(deadline_ns, [&] {
    return ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address),
                     sizeof address);
  });
  if (connected != 0) fd.reset();
  return fd;
}

}  // namespace

RankLimits::RankLimits(std::string socket_path)
    : socket_path_(std::move(socket_path)) {
  if (!socket_path_.empty()) return;
  const char* named = std::getenv("PENSTOCK_SOCKET");
  socket_path_ = named != nullptr ? named : PENSTOCK_SOCKET_PATH;
}

RankLimits::~RankLimits() {
  restore_affinity();
  std::string why;
  if (held_) (void)ask(0, 0, true, why);
}

int RankLimits::ask(uint32_t millicores, uint64_t bytes_per_s, bool ends,
                    std::string& why) const {
  const uint64_t deadline_ns = monotonic_ns() + kAsk_s * 1'000'000'000ull;
  const UniqueFd fd = connect_to(socket_path_, deadline_ns);
  if (!fd) {
    why = "no penstockd answers at " + socket_path_;
    return ECONNREFUSED;
  }
  penstock_limit limit{};
  limit.header = {PENSTOCK_MAGIC, PENSTOCK_PROTOCOL_VERSION, PENSTOCK_LIMIT,
                  sizeof limit, 1};
  limit.millicores = millicores;
  limit.ends = ends ? 1 : 0;
  limit.bytes_per_s = bytes_per_s;
  penstock_reply reply{};
  const ssize_t sent = call_until(deadline_ns, [&] {
    return ::send(fd.get(), &limit, sizeof limit, MSG_NOSIGNAL);
  });
  const auto receive = [&] {
    return ::recv(fd.get(), &reply, sizeof reply, 0);
  };
  if (sent != ssize_t(sizeof limit) ||
      call_until(deadline_ns, receive) != ssize_t(sizeof reply) ||
      reply.header.magic != PENSTOCK_MAGIC) {
    why = "penstockd at " + socket_path_ + " does not answer";
    return EIO;
  }
  why.assign(reply.text, ::strnlen(reply.text, sizeof reply.text));
  return reply.status;
}

bool RankLimits::set_affinity(double cores) {
  if (cores != std::floor(cores)) return false;
  const CpuSet now = cpu_affinity(0).value_or(CpuSet());
  const int all = static_cast<int>(now.size());
  const int wanted = static_cast<int>(cores);
  if (wanted < 1 || wanted > all) return false;
  const auto first = now.cpus().begin() + first_cpu(wanted, all);
  const CpuSet some(std::vector<int>(first, first + wanted));
  for (pid_t tid : own_threads()) {
    Result<CpuSet> before = cpu_affinity(tid);
    if (!before) continue;
    affinities_[tid] = *std::move(before);
    (void)set_cpu_affinity(tid, some);
  }
  return true;
}

// Threads that were started meanwhile get the calling thread's old mask.
void RankLimits::restore_affinity() {
  const auto own = affinities_.find(::gettid());
  if (own == affinities_.end()) return;
  for (pid_t tid : own_threads()) {
    const auto known = affinities_.find(tid);
    (void)set_cpu_affinity(
        tid, known == affinities_.end() ? own->second : known->second);
  }
  affinities_.clear();
}

void RankLimits::set(const std::optional<double>& cores,
                     const std::optional<double>& bytes_per_s,
                     AnalysisReady& ready) {
  restore_affinity();
  millicores_ = uint32_t(std::lround(cores.value_or(0) * 1000));
  bytes_per_s_ = uint64_t(bytes_per_s.value_or(0));
  held_ = ask(millicores_, bytes_per_s_, false, ready.why) == 0;
  if (held_) {
    ready.cores_by = cores ? "quota" : "";
    ready.bytes_per_s_by = bytes_per_s ? "kernel" : "";
  } else {
    // Registers the rank without limits: it must at least not lend or borrow
    // CPUs during the measurement.
    std::string ignored;
    millicores_ = 0;
    bytes_per_s_ = 0;
    held_ = ask(0, 0, false, ignored) == 0;
    if (cores && set_affinity(*cores)) ready.cores_by = "affinity";
  }
  renewed_ns_ = monotonic_ns();
}

void RankLimits::renew(uint64_t now_ns) {
  if (!held_ || now_ns - renewed_ns_ < kRenew_ns) return;
  renewed_ns_ = now_ns;
  // An error is ignored: penstockd may be restarting, and is asked again.
  std::string ignored;
  (void)ask(millicores_, bytes_per_s_, false, ignored);
}

}  // namespace penstock
