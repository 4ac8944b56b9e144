// The file that node_exporter reads. Not thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "common/result.h"
#include "node_agent/bounded_child.h"

namespace penstock {

// Replaces the file atomically (written under another name, renamed; mode
// 0644). Another daemon may own the parent of the directory, so no link is
// followed, neither as the directory nor in it. Not synced: old metrics are
// useless after a crash.
// Errors: kPermissionDenied  the directory is not ours, or others may write it
//         kNotFound, kIo     the directory is missing, or writing failed; no
//                            partial file remains
[[nodiscard]] Status write_metrics_file(const std::string& path,
                                        std::string_view text);

// Removes the file, and the unfinished file of a killed writer. Missing files
// are no error. Errors: as write_metrics_file().
[[nodiscard]] Status remove_metrics_file(const std::string& path);

// Keeps one file up to date. A child writes it: a disk that loaders keep busy
// may be slow, and recalls must not wait for it.
class MetricsFile {
 public:
  // children must outlive this object, except for its final callbacks.
  explicit MetricsFile(BoundedChildren& children) : children_(children) {}

  // Sets the path; "": no file. A child removes the file at the previous path.
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
  std::string path_;
  bool is_writing_ = false;
  bool has_failed_ = false;
  int removals_ = 0;  // that run
};

}  // namespace penstock
