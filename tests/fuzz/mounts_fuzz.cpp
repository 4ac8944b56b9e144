// Mount tables: users' mounts (FUSE) choose their own sources and targets.
#include "cgroup/mounts.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = as_text(data, size);
  const auto entries = parse_mounts(text);
  if (!entries) return 0;
  for (const MountEntry& entry : *entries) {
    const auto path = mount_below(entry.target, "/sys/fs/cgroup");
    FUZZ_CHECK(!path || !path->empty());
  }
  return 0;
}
