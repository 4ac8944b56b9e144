#include "loader/lmdb/lmdb_database.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/catch.h"
#include "tests/unit/lmdb/lmdb_files.h"

using namespace penstock;
using namespace penstock::lmdb;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a folder with data.mdb and a file are both databases") {
  const TempFolder folder;
  write_lmdb(folder.path("data.mdb"), {10, 20, 30});
  for (const std::string& path : {folder.path(), folder.path("data.mdb")}) {
    auto database = Database::open(path, {});
    REQUIRE(database);
    CHECK(database->path() == folder.path("data.mdb"));
    CHECK(database->index().size() == 3);
    CHECK_FALSE(database->is_from_sidecar());
    CHECK(database->sidecar_refusal().empty());
  }
}

TEST_CASE("the error for a path without a database names it") {
  const TempFolder folder;
  const auto error_of = [](const std::string& path) {
    auto database = Database::open(path, {});
    REQUIRE_FALSE(database);
    return database.error();
  };
  Error missing = error_of(folder.path("none"));
  CHECK(missing.code == Code::kNotFound);
  CHECK_THAT(missing.message, ContainsSubstring(folder.path("none")));
  Error empty = error_of(folder.path());
  CHECK(empty.code == Code::kNotFound);
  CHECK_THAT(empty.message, ContainsSubstring(folder.path("data.mdb")));
  REQUIRE(::mkfifo(folder.path("pipe").c_str(), 0600) == 0);
  Error pipe = error_of(folder.path("pipe"));
  CHECK(pipe.code == Code::kInvalidArgument);
  CHECK(pipe.message == folder.path("pipe") + ": no regular file");
}

TEST_CASE("a change after opening is detected") {
  const TempFolder folder;
  const std::string file = folder.path("a");
  write_lmdb(file, {10, 20, 30});
  auto database = Database::open(file, {});
  REQUIRE(database);
  LmdbWriter writer(file);
  for (int i = 0; i < 2; ++i) {
    CHECK(database->check_intact());
    writer.begin();
    writer.put("k", "v");
    writer.commit();
  }
  Status intact = database->check_intact();
  REQUIRE_FALSE(intact);
  CHECK(intact.error().code == Code::kUnavailable);
  CHECK_THAT(intact.error().message,
             ContainsSubstring(file + ": the database is being written"));
}
