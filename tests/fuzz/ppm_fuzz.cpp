// Raw records: whatever is accepted lies inside the file, whole.
#include "loader/picture/ppm.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto image = parse_ppm({data, size});
  if (!image) {
    FUZZ_CHECK(image.error().code == Code::kInvalidArgument);
    return 0;
  }
  FUZZ_CHECK(image->width >= 1 && image->width <= kMaxSidePixels);
  FUZZ_CHECK(image->height >= 1 && image->height <= kMaxSidePixels);
  FUZZ_CHECK(image->pixels > data);
  FUZZ_CHECK(image->row(image->height) <= data + size);
  return 0;
}
