#include "node_agent/report_dir.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "common/admin_file.h"
#include "common/whole_file.h"

namespace penstock {
namespace {

constexpr uint64_t kDeadline_ms = 10'000;
constexpr size_t kMaxMessageBytes = 8192;

constexpr int kWaits = 100;
constexpr unsigned kWait_us = 50'000;

// The broker gives the directory to penstockd's user, and may still be at it.
bool may_be_given(const std::string& path) {
  struct stat found {};
  return ::geteuid() != 0 && ::stat(path.c_str(), &found) == 0 &&
         found.st_uid == 0;
}

// Runs in the child.
void look(const std::string& path, const std::string& what, int out) {
  for (int i = 0;; ++i) {
    // Asked first: it may be given between the two calls.
    const bool may_change = may_be_given(path) && i < kWaits;
    const Result<UniqueFd> directory = open_admin_directory(path, what);
    if (directory) return;
    if (!may_change) {
      (void)!write_whole(out, directory.error().message);
      return;
    }
    ::usleep(kWait_us);
  }
}

}  // namespace

void check_report_dir(BoundedChildren& children, const std::string& path,
                      std::function<void(const std::string& fault)> callback) {
  ChildWork work;
  work.what = "ReportDir=" + path;
  work.deadline_ms = kDeadline_ms;
  work.max_bytes = kMaxMessageBytes;
  work.body = [&](int out) { look(path, work.what, out); };
  children.start(
      work, [callback = std::move(callback)](const Result<std::string>& fault) {
        callback(fault ? *fault : fault.error().message);
      });
}

}  // namespace penstock
