#include "broker/report_dir.h"

#include "common/hand_over.h"

namespace penstock {

bool is_report(std::string_view name) {
  if (!name.empty() && name.find_first_not_of("0123456789") == name.npos) {
    return true;
  }
  if (name.starts_with('.') && name.ends_with(".new")) {
    name = name.substr(1, name.size() - 5);
  }
  return name.find_first_of("0123456789") == 0 &&
         (name.ends_with(".json") || name.ends_with(".txt")) &&
         name.find_first_not_of("0123456789.") == name.rfind('.') + 1;
}

Status give_report_dir(const std::string& path, uid_t owner) {
  return hand_over(path, "ReportDir=" + path, owner, is_report);
}

}  // namespace penstock
