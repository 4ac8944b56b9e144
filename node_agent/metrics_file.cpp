#include "node_agent/metrics_file.h"

#include <utility>

#include "common/log.h"

namespace penstock {
namespace {

constexpr uint64_t kDeadline_ms = 10'000;
constexpr size_t kMaxMessageBytes = 4096;
constexpr std::string_view kDone = "=";  // the writer's report of success

// what: the path.
ChildWork work_on(const std::string& what,
                  std::function<Status(int out)> elsewhere) {
  ChildWork work;
  work.what = what;
  work.elsewhere = std::move(elsewhere);
  work.deadline_ms = kDeadline_ms;
  work.max_bytes = kMaxMessageBytes;
  return work;
}

std::string why_not(const Result<std::string>& said) {
  if (!said) return said.error().message;
  return said->empty() ? "its writer crashed" : *said;
}

}  // namespace

void MetricsFile::use(const std::string& path) {
  if (path == path_) return;
  const std::string before = std::exchange(path_, path);
  has_failed_ = false;
  // A file that is being written is removed after the writer ends.
  if (!before.empty() && !is_writing_) remove(before);
}

void MetricsFile::write(const std::string& text) {
  if (path_.empty() || !is_idle()) return;
  is_writing_ = true;
  const auto write = [this, &text](int out) {
    return writer_.write(path_, text, out);
  };
  children_.start(work_on(path_, write),
                  [this, path = path_](const Result<std::string>& said) {
                    on_written(said, path);
                  });
}

void MetricsFile::on_written(const Result<std::string>& said,
                             const std::string& path) {
  is_writing_ = false;
  if (path != path_) return remove(path);
  const bool has_failed = !said || *said != kDone;
  if (has_failed && !has_failed_) {
    log_warning("MetricsFile={}: {}; tried again every {} s", path,
                why_not(said), kPeriod_ms / 1000);
  }
  has_failed_ = has_failed;
}

void MetricsFile::remove(const std::string& path) {
  ++removals_;
  const auto remove = [this, &path](int out) {
    return writer_.remove(path, out);
  };
  children_.start(
      work_on(path, remove), [this, path](const Result<std::string>& said) {
        --removals_;
        if (said && *said == kDone) return;
        log_warning("MetricsFile={}: not removed: {}", path, why_not(said));
      });
}

}  // namespace penstock
