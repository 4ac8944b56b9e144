#include "loader/train/monitor.h"

#include <fmt/format.h>
#include <pthread.h>

#include <cerrno>
#include <system_error>

namespace penstock {
namespace {

constexpr uint64_t kLogPeriodNs = 500000000;
constexpr int kLogLinesPerTextLine = 4;

double seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

}  // namespace

Monitor::Monitor(const BatchSource& loader, const TrainProgress& progress)
    : loader_(loader),
      progress_(progress),
      begin_ns_(monotonic_ns()),
      text_ns_(begin_ns_) {}

Result<std::unique_ptr<Monitor>> Monitor::start(const std::string& log_path,
                                                const BatchSource& loader,
                                                const TrainProgress& progress) {
  std::unique_ptr<Monitor> monitor(new Monitor(loader, progress));
  if (!log_path.empty()) {
    monitor->log_.reset(std::fopen(log_path.c_str(), "we"));
    if (!monitor->log_) return system_error(errno, log_path);
  }
  try {
    monitor->thread_ = std::thread([raw = monitor.get()] { raw->run(); });
  } catch (const std::system_error& error) {
    return system_error(error.code().value(), "the log's thread");
  }
  return monitor;
}

Monitor::~Monitor() {
  stopping_ = true;
  wakes_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Monitor::run() {
  pthread_setname_np(pthread_self(), "pst_monitor");
  uint64_t due_ns = begin_ns_;
  int lines = 0;
  while (!stopping_) {
    const uint32_t key = wakes_.prepare();
    const uint64_t now_ns = monotonic_ns();
    if (now_ns < due_ns) {
      if (!stopping_) wakes_.wait(key, due_ns - now_ns);
      continue;
    }
    write_log_line();
    if (lines > 0 && lines % kLogLinesPerTextLine == 0) write_text_line();
    ++lines;
    due_ns += kLogPeriodNs;
  }
  write_log_line();
}

// After a write error (disk full), ends the log with a message.
void Monitor::write_log_line() {
  if (!log_) return;
  const LoaderCounters loader = loader_.counters();
  const std::string line = fmt::format(
      "{{\"t_realtime\":{:.6f},\"t_monotonic\":{:.6f},\"samples\":{},"
      "\"wait_s\":{:.6f},\"bytes\":{},\"threads\":{},\"fetch_s\":{:.6f},"
      "\"prep_s\":{:.6f},\"prepared\":{},\"loader_cpu_s\":{:.6f},"
      "\"accelerator\":\"emulated\"}}\n",
      unix_s(), seconds(monotonic_ns()), progress_.samples.load(),
      seconds(progress_.wait_ns()), loader.bytes, loader.threads,
      seconds(loader.fetch_ns), seconds(loader.prep_ns), loader.prepared,
      seconds(loader.cpu_ns));
  if (std::fputs(line.c_str(), log_.get()) >= 0 &&
      std::fflush(log_.get()) == 0) {
    return;
  }
  std::fprintf(stderr, "penstock-train: the log ends here: %s\n",
               std::strerror(errno));
  log_.reset();
}

void Monitor::write_text_line() {
  const uint64_t now_ns = monotonic_ns();
  const uint64_t samples = progress_.samples;
  const uint64_t wait_ns = progress_.wait_ns();
  const double interval_s = seconds(now_ns - text_ns_);
  const double rate = static_cast<double>(samples - text_samples_) / interval_s;
  const double share = seconds(wait_ns - text_wait_ns_) / interval_s;
  fmt::print(stderr,
             "{:7.1f} s  {:9} samples  {:8.1f} samples/s  waiting {:.2f}  {} "
             "threads  (emulated accelerator)\n",
             seconds(now_ns - begin_ns_), samples, rate, share,
             loader_.counters().threads);
  text_ns_ = now_ns;
  text_samples_ = samples;
  text_wait_ns_ = wait_ns;
}

}  // namespace penstock
