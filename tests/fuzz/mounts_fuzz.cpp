// Mount tables: users' mounts (FUSE) choose their own sources and targets.
#include "cgroup/mounts.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = as_text(data, size);
  const auto entries = parse_mounts(text);
  const auto mounts = v1_mounts_from_table(text, "/sys/fs/cgroup");
  if (!mounts) return 0;
  FUZZ_CHECK(entries.ok());
  FUZZ_CHECK(mounts->path_of.contains("cpu"));
  for (const auto& [controller, path] : mounts->path_of) {
    FUZZ_CHECK(!path.empty());
  }
  return 0;
}
