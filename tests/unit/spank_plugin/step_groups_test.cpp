#include "spank_plugin/step_groups.h"

#include <fcntl.h>

#include <fstream>

#include "common/unique_fd.h"
#include "tests/unit/catch.h"
#include "tests/unit/spank_plugin/temp_dir.h"

using namespace penstock;
using namespace penstock::spank;

TEST_CASE("the unified path is found among the v1 paths") {
  CHECK(unified_path("4:cpu:/x\n0::/a/b\n") == "/a/b");
  CHECK(unified_path("0::/\n") == "/");
  CHECK(unified_path("4:cpu:/x\n").empty());
  CHECK(unified_path("").empty());
}

TEST_CASE("empty groups of Penstock are removed, everything else stays") {
  const TempDir root;
  namespace fs = std::filesystem;
  const fs::path step = root.path() / fs::path("s.scope/job_7/step_0");
  for (const char* dir :
       {"slurm", "user/task_0/penstock_home", "user/task_0/penstock_loader",
        "user/task_1/other_loader", "user/task_1/nested/x_loader",
        "user/task_2/full_home/below"}) {
    fs::create_directories(step / dir);
  }
  const UniqueFd fd(
      ::open(std::string(root.path()).c_str(), O_RDONLY | O_DIRECTORY));
  // Seen from another cgroup namespace.
  const std::string outside =
      "/../" + fs::path(root.path()).filename().string();
  CHECK(remove_step_groups(fd.get(), outside + "/s.scope/job_7/step_0/slurm") ==
        0);
  CHECK(remove_step_groups(fd.get(), "/s.scope/job_7/step_0/slurm") == 3);
  CHECK(fs::is_empty(step / "user/task_0"));
  CHECK(fs::exists(step / "user/task_1/nested/x_loader"));
  CHECK(fs::exists(step / "user/task_2/full_home"));
  CHECK(remove_step_groups(fd.get(), "/s.scope/job_7/step_0/slurm") == 0);
  for (const char* path :
       {"", "/", "/s.scope/job_7/step_0", "/slurm", "/none/step_0/slurm",
        "s.scope/job_7/step_0/slurm"}) {
    CAPTURE(path);
    CHECK(remove_step_groups(fd.get(), path) == 0);
  }
}
