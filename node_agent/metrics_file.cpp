#include "node_agent/metrics_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include "common/admin_file.h"
#include "common/log.h"
#include "common/unique_fd.h"

namespace penstock {
namespace {

constexpr uint64_t kDeadline_ms = 10'000;
constexpr size_t kMaxMessageBytes = 4096;
constexpr std::string_view kDone = "=";  // the child's report of success

// path: absolute, which the configuration ensures.
struct Place {
  std::string directory;
  std::string name;
  std::string aside;  // not *.prom: node_exporter ignores it

  explicit Place(const std::string& path) {
    const size_t slash = path.rfind('/');
    directory = path.substr(0, std::max<size_t>(slash, 1));
    name = path.substr(slash + 1);
    aside = "." + name + ".new";
  }
};

Status unlink_if_there(int directory_fd, const std::string& name,
                       const std::string& path) {
  if (::unlinkat(directory_fd, name.c_str(), 0) != 0 && errno != ENOENT) {
    return system_error(errno, path);
  }
  return Done{};
}

// what: the path.
ChildWork work_on(const std::string& what,
                  const std::function<Status()>& change) {
  ChildWork work;
  work.what = what;
  work.body = [change](int out) {
    const Status changed = change();
    const std::string_view said =
        changed ? kDone : std::string_view(changed.error().message);
    (void)!::write(out, said.data(), said.size());
  };
  work.deadline_ms = kDeadline_ms;
  work.max_bytes = kMaxMessageBytes;
  return work;
}

std::string why_not(const Result<std::string>& said) {
  if (!said) return said.error().message;
  return said->empty() ? "its writer crashed" : *said;
}

}  // namespace

Status write_metrics_file(const std::string& path, std::string_view text) {
  const Place place(path);
  Result<UniqueFd> directory =
      open_admin_directory(place.directory, place.directory);
  if (!directory) return std::move(directory).error();
  // Mode 0644: node_exporter runs as another user.
  return replace_file({.dir_fd = directory->get(),
                       .name = place.name,
                       .aside = place.aside,
                       .mode = 0644},
                      text);
}

// Removes the unfinished file first, so that a writer that is being killed can
// no longer rename it.
Status remove_metrics_file(const std::string& path) {
  const Place place(path);
  Result<UniqueFd> directory =
      open_admin_directory(place.directory, place.directory);
  if (!directory) return std::move(directory).error();
  Status removed = unlink_if_there(directory->get(), place.aside, path);
  if (!removed) return removed;
  return unlink_if_there(directory->get(), place.name, path);
}

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
  const auto write = [this, &text] { return write_metrics_file(path_, text); };
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
  const auto remove = [&path]() -> Status {
    Status removed = remove_metrics_file(path);
    // The directory is gone, too.
    if (!removed && removed.error().code == Code::kNotFound) return Done{};
    return removed;
  };
  children_.start(
      work_on(path, remove), [this, path](const Result<std::string>& said) {
        --removals_;
        if (said && *said == kDone) return;
        log_warning("MetricsFile={}: not removed: {}", path, why_not(said));
      });
}

}  // namespace penstock
