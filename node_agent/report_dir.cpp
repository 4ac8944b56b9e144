#include "node_agent/report_dir.h"

#include <utility>

#include "common/admin_file.h"
#include "common/whole_file.h"

namespace penstock {
namespace {

constexpr uint64_t kDeadline_ms = 10'000;
constexpr size_t kMaxMessageBytes = 8192;

}  // namespace

void check_report_dir(BoundedChildren& children, const std::string& path,
                      std::function<void(const std::string& fault)> callback) {
  ChildWork work;
  work.what = "ReportDir=" + path;
  work.deadline_ms = kDeadline_ms;
  work.max_bytes = kMaxMessageBytes;
  work.body = [&](int out) {
    const Result<UniqueFd> directory = open_admin_directory(path, work.what);
    if (!directory) (void)!write_whole(out, directory.error().message);
  };
  children.start(
      work, [callback = std::move(callback)](const Result<std::string>& fault) {
        callback(fault ? *fault : fault.error().message);
      });
}

}  // namespace penstock
