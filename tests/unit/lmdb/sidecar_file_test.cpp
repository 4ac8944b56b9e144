#include "loader/lmdb/sidecar_file.h"

#include <sys/stat.h>

#include <filesystem>

#include "tests/unit/catch.h"
#include "tests/unit/lmdb/lmdb_files.h"

using namespace penstock;
using namespace penstock::lmdb;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Opened {
  TempFolder folder;
  std::string file = folder.path("a");
  Result<Database> database = Error{};

  Opened() {
    write_lmdb(file, std::vector<size_t>(100, 10));
    database = Database::open(file, {});
    REQUIRE(database);
  }
  size_t files() const {
    const std::filesystem::directory_iterator all(folder.path());
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }
};

}  // namespace

TEST_CASE("who may read a database may read its index") {
  const Opened opened;
  for (const mode_t mode : {0640U, 0604U}) {
    REQUIRE(::chmod(opened.file.c_str(), mode) == 0);
    auto bytes = write_sidecar(*opened.database, "");
    REQUIRE(bytes);
    struct stat status {};
    REQUIRE(::stat(sidecar_path(opened.file).c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == mode);
    CHECK(static_cast<uint64_t>(status.st_size) == *bytes);
  }
  CHECK(opened.files() == 3);
}

TEST_CASE("an index that cannot be written says what to do") {
  const Opened opened;
  auto bytes = write_sidecar(*opened.database, opened.folder.path("no/index"));
  REQUIRE_FALSE(bytes);
  CHECK(bytes.error().code == Code::kInvalidArgument);
  CHECK_THAT(bytes.error().message,
             ContainsSubstring("no/index: No such file or directory; make its "
                               "folder first"));
  REQUIRE(::mkdir(opened.folder.path("folder").c_str(), 0700) == 0);
  bytes = write_sidecar(*opened.database, opened.folder.path("folder"));
  REQUIRE_FALSE(bytes);
  CHECK(bytes.error().code == Code::kIo);
  bytes = write_sidecar(*opened.database, "/proc/index");
  REQUIRE_FALSE(bytes);
  CHECK(opened.files() == 3);
}

TEST_CASE("an index of a database that has changed is not written") {
  const Opened opened;
  LmdbWriter writer(opened.file);
  writer.begin();
  writer.put("k", "v");
  writer.commit();
  auto bytes = write_sidecar(*opened.database, "");
  REQUIRE_FALSE(bytes);
  CHECK(bytes.error().code == Code::kUnavailable);
  CHECK_THAT(bytes.error().message, ContainsSubstring("being written"));
  CHECK(opened.files() == 2);
}
