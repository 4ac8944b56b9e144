// Option values as users write them, and whole sets as they come over the
// socket: what apply_option() accepts, check_options() accepts too.
#include <algorithm>
#include <cstring>

#include "common/options.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

namespace {

const OptionLimits kLimits{4.0};

void apply(int index, std::string_view value) {
  penstock_wire_options options{};
  if (!apply_option(index, value, kLimits, options)) {
    FUZZ_CHECK(!asks_for_management(options));
    return;
  }
  FUZZ_CHECK(asks_for_management(options) || options.mode == PENSTOCK_MODE_OFF);
  const bool relative =
      std::strchr(options.model, '/') != nullptr && options.model[0] != '/';
  FUZZ_CHECK(check_options(options, kLimits).ok() != relative);
}

void check_wire(const uint8_t* data, size_t size) {
  penstock_wire_options options{};
  std::memcpy(&options, data, std::min(size, sizeof options));
  if (!check_options(options, kLimits)) return;
  FUZZ_CHECK(options.model[sizeof options.model - 1] == 0);
  FUZZ_CHECK(options.match[sizeof options.match - 1] == 0);
  FUZZ_CHECK(options.weight_milli <= 4000);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  check_wire(data, size);
  if (size == 0) return 0;
  const std::string_view value = as_text(data + 1, size - 1);
  apply(data[0] % (kOptionCount + 1), value);
  const size_t half = std::min<size_t>(value.size() / 2, 63);
  const std::string_view pattern = value.substr(0, half);
  const bool matches = matches_loader(pattern, value.substr(half));
  // Without wildcards a pattern is the text itself.
  if (pattern.find_first_of("*?") == std::string_view::npos)
    FUZZ_CHECK(matches == (pattern == value.substr(half)));
  return 0;
}
