// What `penstock bench exchange --calibrate` wrote: whatever is accepted is in
// its bounds.
#include "exchange/plan/costs_file.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto costs = exchange::parse_costs(as_text(data, size));
  if (!costs) {
    FUZZ_CHECK(!costs.error().message.empty());
    return 0;
  }
  for (const double cost : {costs->message_s, costs->byte_s, costs->add_s,
                            costs->select_s, costs->record_s})
    FUZZ_CHECK(cost >= 0 && cost <= 1);
  return 0;
}
