#include "cgroup/proc_parse.h"

#include <array>
#include <utility>

#include "common/text_scan.h"

namespace penstock {
namespace {

Error malformed(const char* file, std::string_view text) {
  return invalid(std::string("/proc/PID/") + file +
                 ": not of the kernel's form: \"" + printable(text) + "\"");
}

}  // namespace

Result<ProcCgroups> parse_proc_cgroup(std::string_view text) {
  ProcCgroups paths;
  uint32_t hierarchy = 0;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    size_t first = line.find(':');
    size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos || !to_number(line.substr(0, first), hierarchy) ||
        line.substr(second + 1, 1) != "/") {
      return malformed("cgroup", line);
    }
    std::string path(line.substr(second + 1));
    std::string_view names = line.substr(first + 1, second - first - 1);
    for (std::string_view name : split(names, ',')) {
      paths.insert_or_assign(std::string(name), path);
    }
  }
  return paths;
}

Result<ProcStat> parse_stat(std::string_view text) {
  // The name may contain any bytes, even ") R 1": it ends at the last ')'.
  size_t open = text.find('(');
  size_t close = text.rfind(')');
  if (open == text.npos || close == text.npos || close < open) {
    return malformed("stat", text);
  }
  ProcStat stat;
  stat.comm = text.substr(open + 1, close - open - 1);
  std::string_view head = text.substr(0, open);
  std::string_view tail = text.substr(close + 1);
  // Field numbers are those of proc(5): the state is field 3.
  std::array<std::string_view, 40> field;
  for (size_t i = 3; i < field.size(); ++i) field[i] = take_word(tail);
  if (!take_number(head, stat.pid) || field[3].size() != 1 ||
      !to_number(field[4], stat.ppid) || !to_number(field[20], stat.threads) ||
      !to_number(field[22], stat.starttime_ticks) ||
      !to_number(field[39], stat.processor)) {
    return malformed("stat", text);
  }
  stat.state = field[3][0];
  return stat;
}

Result<SchedStat> parse_schedstat(std::string_view text) {
  SchedStat stat;
  std::string_view rest = text;
  if (!take_number(rest, stat.run_ns) || !take_number(rest, stat.wait_ns)) {
    return malformed("schedstat", text);
  }
  return stat;
}

namespace {

// "1000 1000 1000 1000": the first; whether all four are equal.
template <class T>
bool take_ids(std::string_view& text, T& id, bool& are_equal) {
  if (!take_number(text, id)) return false;
  int equal = 1;
  T other{};
  while (take_number(text, other) && other == id) ++equal;
  are_equal = equal == 4;
  return true;
}

}  // namespace

Result<ProcStatus> parse_status(std::string_view text) {
  ProcStatus status;
  bool has_tgid = false, has_uid = false, has_gid = false;
  bool one_uid = false, one_gid = false;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    std::string_view rest = line;
    std::string_view key = take_word(rest);
    bool good = true;
    if (key == "Tgid:") {
      good = has_tgid = take_number(rest, status.tgid);
    } else if (key == "Uid:") {
      good = has_uid = take_ids(rest, status.real_uid, one_uid);
    } else if (key == "Gid:") {
      good = has_gid = take_ids(rest, status.real_gid, one_gid);
    } else if (key == "NSpid:") {
      auto pids = parse_pid_list(rest);
      good = pids.ok();
      if (good) status.ns_pids = std::move(*pids);
    }
    if (!good) return malformed("status", line);
  }
  if (!has_tgid || !has_uid || !has_gid) {
    return invalid("/proc/PID/status: no Tgid, Uid or Gid");
  }
  status.has_one_user = one_uid && one_gid;
  return status;
}

Result<std::vector<pid_t>> parse_pid_list(std::string_view text) {
  std::vector<pid_t> pids;
  for (std::string_view rest = text;;) {
    std::string_view word = take_word(rest);
    if (word.empty()) return pids;
    pid_t pid = 0;
    if (!to_number(word, pid) || pid < 0) {
      return invalid("a list of processes: \"" + printable(word) +
                     "\" is not a process number");
    }
    pids.push_back(pid);
  }
}

}  // namespace penstock
