// Tar shards: every sample lies inside the archive, and nothing is read beyond
// its end.
#include <cstring>

#include "loader/data/tar_samples.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Checksums are made right, so that the rest is reached as well.
  std::vector<uint8_t> tar(data, data + size);
  for (size_t at = 0; at + 512 <= size; at += 512) {
    if (std::memcmp(tar.data() + at + 257, "ustar", 5) != 0) continue;
    std::memset(tar.data() + at + 148, ' ', 8);
    unsigned sum = 0;
    for (size_t i = 0; i < 512; ++i) sum += tar[at + i];
    std::snprintf(reinterpret_cast<char*>(tar.data() + at + 148), 8, "%06o",
                  sum);
  }
  SampleRules rules;
  if (size % 2 == 1) rules.key = SampleRules::Key::kLastDot;
  if (size % 3 == 1) rules.image = {"jpg", "png"};
  const auto found = find_tar_samples(
      {size,
       [&](uint64_t offset, std::span<uint8_t> out) {
         FUZZ_CHECK(offset <= size && out.size() <= size - offset);
         std::memcpy(out.data(), tar.data() + offset, out.size());
         return Status(Done{});
       }},
      rules);
  if (!found) {
    FUZZ_CHECK(found.error().code == Code::kInvalidArgument);
    FUZZ_CHECK(found.error().message.starts_with("tar: "));
    return 0;
  }
  for (const TarSample& sample : found->samples) {
    FUZZ_CHECK(sample.bytes > 0 && sample.offset >= 512);
    FUZZ_CHECK(sample.bytes <= size - sample.offset);
    FUZZ_CHECK(sample.label >= -1 && !sample.name.empty());
  }
  return 0;
}
