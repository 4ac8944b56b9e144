// MetricsFile: what node_exporter reads of penstockd. Not thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "common/result.h"
#include "node_agent/bounded_child.h"

namespace penstock {

// Replaces the file at once (written aside, renamed; mode 0644). The directory
// may stand in one that another daemon owns: no link is followed, neither as
// the directory nor in it. Not synced: after a crash nobody asks for it.
// Errors: kPermissionDenied  the directory is not ours, or others may write it
//         kNotFound, kIo     the directory is not there, or writing failed;
//                            nothing partial stays
[[nodiscard]] Status write_metrics_file(const std::string& path,
                                        std::string_view text);

// Removes it, and what a writer that was killed has left; neither need be
// there. Errors: as write_metrics_file().
[[nodiscard]] Status remove_metrics_file(const std::string& path);

// Keeps one file up to date. It is written by a child, as a disk that loaders
// keep busy may take its time, and recalls may not.
class MetricsFile {
 public:
  // children outlives it, but for calls back.
  explicit MetricsFile(BoundedChildren& children) : children_(children) {}

  // Where it is from now on, "": nowhere. The one before is removed.
  void use(const std::string& path);

  // Nothing without a path, or while the last text is being written. What goes
  // wrong is logged, once until it goes well.
  void write(const std::string& text);

  bool is_used() const { return !path_.empty(); }

  // Nobody looks more often; a scrape every 15 s is frequent already.
  static constexpr uint64_t kPeriod_ms = 15'000;

 private:
  void on_written(const Result<std::string>& said, const std::string& path);
  void remove(const std::string& path) const;

  BoundedChildren& children_;
  std::string path_;
  bool is_writing_ = false;
  bool has_failed_ = false;
};

}  // namespace penstock
