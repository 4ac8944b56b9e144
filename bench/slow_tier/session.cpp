#include "bench/slow_tier/session.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "bench/slow_tier/pass_through.h"
#include "common/unique_fd.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// A mountpoint below the source would deadlock: a request that enters the mount
// would wait for itself.
Status check_places(const SlowTierOptions& options) {
  std::error_code error;
  const fs::path source = fs::canonical(options.source, error);
  if (error) return system_error(error.value(), options.source);
  const fs::path mountpoint = fs::canonical(options.mountpoint, error);
  if (error) return system_error(error.value(), options.mountpoint);
  if (!fs::is_directory(mountpoint, error))
    return system_error(ENOTDIR, options.mountpoint);
  const fs::path below = mountpoint.lexically_relative(source);
  if (below != "." && *below.begin() != "..") {
    return invalid(options.mountpoint + " is below " + options.source +
                   ", which it would show; mount elsewhere");
  }
  return Done{};
}

// A descriptor of the signals that stop the process; they stay blocked in all
// threads.
Result<UniqueFd> stop_signals() {
  sigset_t stop;
  ::sigemptyset(&stop);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&stop, number);
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &stop, nullptr))
    return system_error(error, "sigmask");
  UniqueFd fd(::signalfd(-1, &stop, SFD_CLOEXEC));
  if (!fd) return system_error(errno, "signalfd");
  return fd;
}

struct DestroySession {
  void operator()(fuse_session* session) const {
    fuse_session_destroy(session);
  }
};
using Session = std::unique_ptr<fuse_session, DestroySession>;

// A mount by root allows other users, so that their jobs can read it.
Session make_session(PassThrough& tier) {
  const char* options = ::geteuid() == 0
                            ? "ro,nosuid,nodev,default_permissions,"
                              "fsname=penstock-slow-tier,allow_other"
                            : "ro,nosuid,nodev,default_permissions,"
                              "fsname=penstock-slow-tier";
  const char* words[] = {"penstock-slow-tier", "-o", options};
  // libfuse copies the arguments before it changes them.
  fuse_args arguments = FUSE_ARGS_INIT(3, const_cast<char**>(words));
  const auto& operations = PassThrough::operations();
  Session session(
      fuse_session_new(&arguments, &operations, sizeof operations, &tier));
  fuse_opt_free_args(&arguments);
  return session;
}

// Serves until a signal or an unmount.
Status serve(fuse_session* session, int signals) {
  const int fuse_fd = fuse_session_fd(session);
  // Non-blocking, because the request that poll() saw may be gone. A blocking
  // read would miss signals.
  if (::fcntl(fuse_fd, F_SETFL, O_NONBLOCK) != 0)
    return system_error(errno, "/dev/fuse");
  fuse_buf buffer{};
  Status status = Done{};
  while (fuse_session_exited(session) == 0) {
    pollfd waits[] = {{fuse_fd, POLLIN, 0}, {signals, POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0 && errno != EINTR) {
      status = system_error(errno, "poll");
      break;
    }
    if (waits[1].revents != 0) break;
    const int got = fuse_session_receive_buf(session, &buffer);
    if (got > 0) fuse_session_process_buf(session, &buffer);
    if (got >= 0 || got == -EINTR || got == -EAGAIN) continue;
    status = system_error(-got, "/dev/fuse");
    break;
  }
  ::free(buffer.mem);
  return status;
}

}  // namespace

Status run_slow_tier(const SlowTierOptions& options) {
  Status placed = check_places(options);
  if (!placed) return placed;
  auto tier = PassThrough::open(options.source);
  if (!tier) return std::move(tier).error();
  Result<UniqueFd> signals = stop_signals();
  if (!signals) return std::move(signals).error();
  const Session session = make_session(**tier);
  if (!session ||
      fuse_session_mount(session.get(), options.mountpoint.c_str()) != 0) {
    return Error{Code::kUnavailable, 0,
                 "cannot mount at " + options.mountpoint +
                     "; it needs /dev/fuse, and fusermount3 unless root "
                     "mounts"};
  }
  Status status = Done{};
  if (fuse_daemonize(options.foreground ? 1 : 0) != 0) {
    status = system_error(errno, "daemon");
  } else {
    (*tier)->start(
        AnswerTimes(options.latency_ns, options.bandwidth_bytes_per_s));
    status = serve(session.get(), signals->get());
    (*tier)->stop();
  }
  fuse_session_unmount(session.get());
  return status;
}

}  // namespace penstock
