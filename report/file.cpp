#include "report/file.h"

#include <unistd.h>

#include <cerrno>
#include <string>

#include "common/admin_file.h"
#include "report/json.h"
#include "report/render.h"

namespace penstock {
namespace {

Status replace(int dir_fd, const std::string& name, std::string_view text,
               uid_t uid) {
  return replace_file({.dir_fd = dir_fd,
                       .name = name,
                       .aside = "." + name + ".new",
                       .mode = 0400,
                       .owner = uid,
                       .sync = true},
                      text);
}

}  // namespace

Status write_report_file(int dir_fd, const JobReport& report, uid_t uid,
                         penstock_report_format format) {
  if (format == PENSTOCK_REPORT_NONE) return Done{};
  std::string stem = std::to_string(report.job_id);
  Status status = replace(dir_fd, stem + ".json", to_json(report), uid);
  if (status && format != PENSTOCK_REPORT_JSON) {
    status = replace(dir_fd, stem + ".txt", render_text(report), uid);
  }
  if (!status) return status;
  if (::fsync(dir_fd) != 0) {
    return system_error(errno, "cannot sync the report directory");
  }
  return status;
}

}  // namespace penstock
