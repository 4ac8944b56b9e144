// Datagrams of the proc connector.
#include "cgroup/proc_events.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<ProcEvent> events;
  (void)decode_proc_events({reinterpret_cast<const std::byte*>(data), size},
                           events);
  return 0;
}
