#include "loader/lmdb/sidecar_file.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <filesystem>

#include "tests/unit/catch.h"
#include "tests/unit/lmdb/lmdb_files.h"
#include "tests/unit/lmdb/refused_call.h"

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

TEST_CASE("the index gets the access mode of its database") {
  const Opened opened;
  for (const mode_t mode : {0640U, 0604U}) {
    REQUIRE(::chmod(opened.file.c_str(), mode) == 0);
    auto bytes = write_sidecar(*opened.database);
    REQUIRE(bytes);
    struct stat status {};
    REQUIRE(::stat(sidecar_path(opened.file).c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == mode);
    CHECK(static_cast<uint64_t>(status.st_size) == *bytes);
  }
  CHECK(opened.files() == 3);
}

TEST_CASE("the error for an unwritable index names the remedy") {
  const Opened opened;
  const auto fails_with = [&](Code code, const char* text) {
    auto bytes = write_sidecar(*opened.database);
    return !bytes && bytes.error().code == code &&
           bytes.error().message.find(text) != std::string::npos &&
           opened.files() == 2;
  };
  CHECK(holds_when_refused(SYS_write, ENOSPC, [&] {
    return fails_with(Code::kIo, "No space left on device; make room");
  }));
  CHECK(holds_when_refused(SYS_fchmod, EPERM, [&] {
    return fails_with(Code::kPermissionDenied, "its owner can write it");
  }));
  REQUIRE(::mkdir(sidecar_path(opened.file).c_str(), 0700) == 0);
  auto bytes = write_sidecar(*opened.database);
  REQUIRE_FALSE(bytes);
  CHECK(bytes.error().code == Code::kIo);
  CHECK(opened.files() == 3);
}

TEST_CASE("the index of a changed database is not written") {
  const Opened opened;
  LmdbWriter writer(opened.file);
  writer.begin();
  writer.put("k", "v");
  writer.commit();
  auto bytes = write_sidecar(*opened.database);
  REQUIRE_FALSE(bytes);
  CHECK(bytes.error().code == Code::kUnavailable);
  CHECK_THAT(bytes.error().message, ContainsSubstring("being written"));
  CHECK(opened.files() == 2);
}
