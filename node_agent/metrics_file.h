// The file that node_exporter reads. Not thread-safe.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "common/result.h"
#include "node_agent/bounded_child.h"

namespace penstock {

// Who writes and removes the file, in another process. The answer to `out`: "="
// for success, or a message.
struct MetricsWriter {
  std::function<Status(const std::string& path, const std::string& text,
                       int out)>
      write;
  std::function<Status(const std::string& path, int out)> remove;
};

// Keeps one file up to date. Another process writes it: a disk that loaders
// keep busy may be slow, and recalls must not wait for it.
class MetricsFile {
 public:
  // children must outlive this object, except for its final callbacks.
  MetricsFile(BoundedChildren& children, MetricsWriter writer)
      : children_(children), writer_(std::move(writer)) {}

  // Sets the path; "": no file. Has the file at the previous path removed.
  void use(const std::string& path);

  // Starts writing the text. Does nothing without a path, or while a file is
  // being written or removed. Logs the first of consecutive failures.
  void write(const std::string& text);

  bool is_used() const { return !path_.empty(); }
  // True if no file is being written or removed.
  bool is_idle() const { return !is_writing_ && removals_ == 0; }

  // A scrape every 15 s is frequent already.
  static constexpr uint64_t kPeriod_ms = 15'000;

 private:
  void on_written(const Result<std::string>& said, const std::string& path);
  void remove(const std::string& path);

  BoundedChildren& children_;
  const MetricsWriter writer_;
  std::string path_;
  bool is_writing_ = false;
  bool has_failed_ = false;
  int removals_ = 0;  // that run
};

}  // namespace penstock
