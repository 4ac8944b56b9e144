// What anyone who reaches a controller's port sends: the same messages come out
// however the bytes are cut, and no memory is taken for what a header only
// promises.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "wire/zmtp.h"

using namespace penstock;

namespace {

constexpr size_t kMost = 1000;

struct Heard {
  std::vector<std::string> texts;
  bool is_broken = false;
  bool operator==(const Heard&) const = default;
};

Heard hear(std::string_view bytes, size_t step) {
  Heard heard;
  ZmtpReader reader(kMost);
  while (!bytes.empty()) {
    std::string_view part = bytes.substr(0, step);
    bytes.remove_prefix(part.size());
    while (true) {
      const Result<ZmtpReader::Got> got = reader.read(part);
      FUZZ_CHECK(reader.held_bytes() <= 2 * kMost);
      if (!got) {
        heard.is_broken = true;
        return heard;
      }
      if (*got == ZmtpReader::Got::kNothing) break;
      heard.texts.push_back(reader.take_text());
      FUZZ_CHECK(heard.texts.back().size() <= kMost);
    }
    FUZZ_CHECK(part.empty());
  }
  return heard;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = as_text(data, size);
  const Heard whole = hear(bytes, std::max(size, size_t{1}));
  for (const size_t step : {size_t{1}, size_t{7}, size_t{65}}) {
    FUZZ_CHECK(hear(bytes, step) == whole);
  }
  return 0;
}
