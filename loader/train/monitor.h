// Reports the run's progress: a JSON line to the log every 0.5 s, and a text
// line to standard error every 2 s.
#pragma once

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "common/result.h"
#include "loader/pipeline/event_count.h"
#include "loader/train/progress.h"
#include "penstock/loader/batch_source.h"

namespace penstock {

class Monitor {
 public:
  // loader and progress must outlive it. log_path "": no log.
  // Errors: the log cannot be created, or no thread can be started
  [[nodiscard]] static Result<std::unique_ptr<Monitor>> start(
      const std::string& log_path, const BatchSource& loader,
      const TrainProgress& progress);
  // Writes the last log line and ends the thread.
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  Monitor(const BatchSource& loader, const TrainProgress& progress);
  void run();
  void write_log_line();
  void write_text_line();

  const BatchSource& loader_;
  const TrainProgress& progress_;
  std::unique_ptr<std::FILE, Close> log_;
  uint64_t begin_ns_;
  uint64_t text_ns_;           // time of the last text line
  uint64_t text_samples_ = 0;  // at that time
  uint64_t text_wait_ns_ = 0;
  std::atomic<bool> stopping_{false};
  EventCount wakes_;
  std::thread thread_;
};

}  // namespace penstock
