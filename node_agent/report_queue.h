// Writes the reports of ended jobs into ReportDir, one at a time in a child: a
// slow or hung disk must delay neither recalls nor the end of penstockd. Not
// thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "common/protocol.h"
#include "common/result.h"
#include "node_agent/bounded_child.h"
#include "report/report.h"

namespace penstock {

struct EndedJob {
  JobReport report;
  uid_t uid = 0;
  penstock_report_format format = PENSTOCK_REPORT_UNSET;
  std::string directory;  // ReportDir
};

// Errors: as write_report_file(), or why the directory cannot be opened.
[[nodiscard]] Status write_report(const EndedJob& job);

class ReportQueue {
 public:
  using Write = std::function<Status(const EndedJob&)>;

  // write runs in the child; a test may give another one. children must outlive
  // this object, except for its final callbacks.
  explicit ReportQueue(BoundedChildren& children, Write write = write_report)
      : children_(children), write_(std::move(write)) {}

  // Takes a report. It replaces a waiting one of the same job: each step of a
  // job may end its last task. Drops it if kMaxWaiting wait already.
  void add(EndedJob job);

  // Writes what had to wait for a hung writer or a failed fork, and logs how
  // many reports were dropped, at most once in kDropsLogged_ns. Call about once
  // a second.
  void tend(uint64_t now_ns);

  // True if no report waits or is being written.
  bool is_idle() const { return waiting_.empty() && !is_writing_; }

  // More jobs than these do not end on a node within the time that a disk takes
  // for as many files.
  static constexpr size_t kMaxWaiting = 512;
  static constexpr uint64_t kDeadline_ms = 10'000;  // to write one report
  static constexpr uint64_t kDropsLogged_ns = 60'000'000'000;

 private:
  void write_next();
  void on_written(const EndedJob& job, const Result<std::string>& said);

  BoundedChildren& children_;
  Write write_;
  std::deque<EndedJob> waiting_;  // oldest first
  bool is_writing_ = false;
  bool is_held_up_ = false;  // no writer can be started; logged already
  uint64_t dropped_ = 0;     // since the last log line
  uint64_t next_log_ns_ = 0;
};

}  // namespace penstock
