// Node lists: whatever is expanded has no bracket and no comma left, and stands
// for itself.
#include "common/node_list.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto nodes = expand_node_list(as_text(data, size));
  if (!nodes) return 0;
  FUZZ_CHECK(!nodes->empty() && nodes->size() <= kMostListedNodes);
  for (const std::string& node : *nodes) {
    FUZZ_CHECK(!node.empty());
    FUZZ_CHECK(node.find_first_of(",[]") == node.npos);
  }
  const auto same = expand_node_list(nodes->front());
  FUZZ_CHECK(same && *same == std::vector<std::string>{nodes->front()});
  return 0;
}
