#include "select_ext/job_submit/state.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>

#include "common/account.h"
#include "common/clock.h"
#include "common/config.h"
#include "select_ext/job_submit/slurm_api.h"

namespace penstock::job_submit {
namespace {

static_assert(std::is_trivially_destructible_v<State>);
constinit State the_state;

// Slurm passes no arguments to plugins of this kind, so penstock.conf must be
// in slurm.conf's directory.
std::string config_path() {
  const char* slurm_conf = std::getenv("SLURM_CONF");
  std::string directory = slurm_conf == nullptr ? "" : slurm_conf;
  const size_t slash = directory.rfind('/');
  directory =
      slash == std::string::npos ? "/etc/slurm" : directory.substr(0, slash);
  return directory + "/penstock.conf";
}

void open_table(const std::string& path, const std::string& writer) {
  const char* fault = the_state.table.open(path.c_str(), find_uid(writer));
  if (fault != nullptr)
    slurm_error(
        "penstock: %s: %s%s%s; jobs get no loader GRES: start penstockctld or "
        "run penstock publish, then restart slurmctld",
        path.c_str(), fault, errno != 0 ? ": " : "",
        errno != 0 ? std::strerror(errno) : "");
}

void open_socket(const std::string& path) {
  // A path that does not fit was refused when the file was read.
  std::strncpy(the_state.socket_path, path.c_str(),
               sizeof the_state.socket_path - 1);
  the_state.socket =
      ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (the_state.socket < 0)
    slurm_error(
        "penstock: socket: %s; penstockctld gets no messages about jobs",
        std::strerror(errno));
}

}  // namespace

State& state() { return the_state; }

void start() {
  const std::string path = config_path();
  Result<Config> config = load_config(path);
  if (!config && config.error().code == Code::kNotFound) {
    slurm_info("penstock: no %s; the defaults hold", path.c_str());
    config = Config{};
  }
  if (!config) {
    slurm_error("penstock: %s; jobs are submitted as without Penstock",
                config.error().message.c_str());
    return;
  }
  the_state.limits.max_weight = config->max_weight;
  the_state.default_auto = config->default_auto;
  the_state.gres = {config->submit_node_cores,
                    config->submit_node_bandwidth_bytes_per_s,
                    config->submit_overcommit};
  the_state.comment = config->submit_comment;
  the_state.load_ns = read_clock_ns(CLOCK_REALTIME);
  if (config->uses_submit_table())
    open_table(config->submit_table, config->controller_user);
  open_socket(config->submit_socket);
  the_state.is_ready = true;
}

void stop() {
  the_state.is_ready = false;
  the_state.table.close();
  if (the_state.socket >= 0) ::close(the_state.socket);
  the_state.socket = -1;
}

void send_submission(Submission& submission) {
  submission.magic = kSubmissionMagic;
  submission.version = kSubmissionVersion;
  submission.size_bytes = sizeof submission;
  submission.load_ns = the_state.load_ns;
  submission.number = ++the_state.datagrams;
  submission.sent_ns = read_clock_ns(CLOCK_REALTIME);
  submission.statistics.hooks = the_state.hooks.load();
  submission.statistics.not_sent = the_state.not_sent.load();
  for (size_t i = 0; i < kBuckets; ++i)
    submission.statistics.buckets[i] =
        the_state.buckets[i].load(std::memory_order_relaxed);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  static_assert(sizeof address.sun_path == sizeof the_state.socket_path);
  std::memcpy(address.sun_path, the_state.socket_path, sizeof address.sun_path);
  const ssize_t sent =
      ::sendto(the_state.socket, &submission, sizeof submission,
               MSG_DONTWAIT | MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (sent != static_cast<ssize_t>(sizeof submission)) ++the_state.not_sent;
}

HookTimer::HookTimer() : start_ns_(monotonic_ns()) {}

HookTimer::~HookTimer() {
  const uint64_t elapsed_ns = monotonic_ns() - start_ns_;
  ++the_state.buckets[bucket_of(elapsed_ns)];
  ++the_state.hooks;
}

}  // namespace penstock::job_submit
