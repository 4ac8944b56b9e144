// Databases of machines with other page sizes: liblmdb takes the size from
// sysconf(), which this program overrides.
#include <dlfcn.h>
#include <unistd.h>

#include "tests/unit/catch.h"
#include "tests/unit/lmdb/lmdb_files.h"

using namespace penstock;
using namespace penstock::test;

namespace {
long page_bytes = 0;  // 0: the machine's
}

extern "C" long sysconf(int name) noexcept {
  using Sysconf = long (*)(int);
  static const auto real =
      reinterpret_cast<Sysconf>(::dlsym(RTLD_NEXT, "sysconf"));
  return name == _SC_PAGESIZE && page_bytes > 0 ? page_bytes : real(name);
}

TEST_CASE("databases of any page size are read") {
  for (const long size : {512L, 1024L, 2048L, 8192L, 16384L, 32768L, 65536L}) {
    const TempFolder folder;
    const std::string file = folder.path("a.lmdb");
    std::vector<size_t> sizes;
    for (size_t i = 0; i < 2000; ++i) sizes.push_back(i * 7 % 100);
    for (size_t i = 0; i < 300; ++i) sizes.push_back(i * 997 % 100000);
    page_bytes = size;
    write_lmdb(file, sizes, 1000);
    page_bytes = 0;
    INFO("pages of " << size << " bytes");
    auto walked = records_by_walk(file);
    INFO((walked ? "" : walked.error().message));
    REQUIRE(walked);
    CHECK(*walked == records_by_liblmdb(file));
    // LMDB 0.9 limits pages to this size on any machine.
    auto database = lmdb::Database::open(file, {});
    REQUIRE(database);
    CHECK(database->snapshot().meta.page_bytes == std::min(size, 32768L));
  }
}
