// Amounts of `penstock what-if`: whatever is accepted is in its bounds, ascends
// and can be shown.
#include "tests/fuzz/fuzz.h"
#include "tools/penstock/what_if_amounts.h"

using namespace penstock;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = as_text(data, size);
  for (Axis axis : kAxes) {
    const auto amounts = parse_amounts(axis, text);
    if (!amounts) continue;
    FUZZ_CHECK(!amounts->empty() && amounts->size() <= kMaxAmounts);
    double last = -1;
    for (double amount : *amounts) {
      FUZZ_CHECK(amount > last && amount <= 4.7e18);
      FUZZ_CHECK(axis != Axis::kCache || amount <= 1);
      FUZZ_CHECK(axis != Axis::kDensity || (amount > 0 && amount <= 1));
      FUZZ_CHECK(axis != Axis::kRanks || amount == static_cast<int>(amount));
      FUZZ_CHECK(!named_amount(axis, amount).empty());
      last = amount;
    }
  }
  return 0;
}
