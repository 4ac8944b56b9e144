#include "loader/lmdb/mpi/reader_setup.h"

#include "tests/unit/catch.h"

using namespace penstock::lmdb;

TEST_CASE("the buffers of a machine share a quarter of the free memory") {
  constexpr double kGiB = 1 << 30;
  CHECK(default_buffer_bytes(kGiB, 1) == 256 << 20);
  CHECK(default_buffer_bytes(kGiB, 4) == 64 << 20);
  CHECK(default_buffer_bytes(64 * kGiB, 4) == 256 << 20);
}
