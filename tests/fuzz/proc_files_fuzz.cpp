// Files of /proc/PID and of control groups; the first byte picks the parser.
#include "cgroup/proc_parse.h"
#include "cgroup/v1_parse.h"
#include "cgroup/v2_layout.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

namespace {

void check_cgroup(std::string_view text) {
  const auto paths = parse_proc_cgroup(text);
  if (!paths) return;
  for (const auto& [controller, path] : *paths) {
    FUZZ_CHECK(path.starts_with('/'));
    FUZZ_CHECK(controller.find(',') == controller.npos);
  }
}

void check_stat(std::string_view text) {
  const auto stat = parse_stat(text);
  if (stat) FUZZ_CHECK(text.find(stat->comm) != text.npos);
}

void check_pids(std::string_view text) {
  const auto pids = parse_pid_list(text);
  if (!pids) return;
  for (pid_t pid : *pids) FUZZ_CHECK(pid >= 0);
}

void check_job_dir(std::string_view text) {
  const auto job = parse_job_dir(text);
  if (job) FUZZ_CHECK(job_dir(*job) == text);
}

void check_pressure(std::string_view text) {
  if (pressure_some_us(text)) FUZZ_CHECK(text.find("some") != text.npos);
}

void check_layout(std::string_view text) {
  const auto groups = slurm_groups_of(text);
  if (!groups) return;
  for (const std::string& level : groups->levels()) {
    FUZZ_CHECK(text.starts_with(level));
    FUZZ_CHECK(level.starts_with(groups->scope + "/"));
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text = as_text(data + 1, size - 1);
  switch (data[0] % 12) {
    case 0:
      check_cgroup(text);
      break;
    case 1:
      check_stat(text);
      break;
    case 2:
      (void)parse_status(text);
      break;
    case 4:
      (void)parse_schedstat(text);
      break;
    case 5:
      check_pids(text);
      break;
    case 6:
      (void)parse_io_read_bytes(text, "7:0");
      break;
    case 7:
      (void)parse_cpu_usage(text);
      break;
    case 8:
      check_layout(text);
      break;
    case 9:
      (void)io_figure(text, "7:0", "rbytes");
      (void)keyed_figure(text, "populated");
      break;
    case 10:
      check_job_dir(text);
      break;
    default:
      check_pressure(text);
  }
  return 0;
}
