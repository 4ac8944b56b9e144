// Does something with the reports of jobs, one at a time in a child: writes those
// of ended jobs into ReportDir, or packs reports for controllers. A slow or hung
// disk, or much work, must delay neither recalls nor the end of penstockd. Not
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

struct ReportedJob {
  JobReport report;
  uid_t uid = 0;
  penstock_report_format format = PENSTOCK_REPORT_UNSET;
  std::string directory;  // ReportDir
};

// Writes the report's files.
// Errors: as write_report_file(), or why the directory cannot be opened.
[[nodiscard]] Result<std::string> write_report(const ReportedJob& job);
// Returns the report as pack_report() does, as hexadecimal text.
[[nodiscard]] Result<std::string> pack_reported(const ReportedJob& job);

class ReportQueue {
 public:
  struct Work {
    const char* what = "writing a report";  // as in ChildWork
    // Runs in the child; its text goes to `done`.
    std::function<Result<std::string>(const ReportedJob&)> run = write_report;
    size_t max_bytes = 4096;  // of that text or an error
    // Called in penstockd; not after an error.
    std::function<void(const ReportedJob&, const std::string&)> done = nullptr;
    const char* remedy = "look whether ReportDir hangs";  // if some are lost
  };

  // children must outlive this object, except for its final callbacks.
  ReportQueue(BoundedChildren& children, Work work)
      : children_(children), work_(std::move(work)) {}

  // Takes a report. It replaces a waiting one of the same job: each step of a
  // job may end its last task. Drops it if kMaxWaiting wait already.
  void add(ReportedJob job);

  // Does what had to wait for a hung writer or a failed fork, and logs how
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
  void on_written(const ReportedJob& job, const Result<std::string>& said);

  BoundedChildren& children_;
  const Work work_;
  std::deque<ReportedJob> waiting_;  // oldest first
  bool is_writing_ = false;
  bool is_held_up_ = false;  // no writer can be started; logged already
  uint64_t dropped_ = 0;     // since the last log line
  uint64_t next_log_ns_ = 0;
};

}  // namespace penstock
