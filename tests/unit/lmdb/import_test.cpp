#include "loader/lmdb/import.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "common/checksum.h"
#include "loader/lmdb/database_writer.h"
#include "loader/lmdb/lmdb_database.h"
#include "tests/unit/catch.h"
#include "tests/unit/lmdb/lmdb_files.h"

using namespace penstock;
using namespace penstock::lmdb;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

bool always(uint64_t, uint64_t) { return true; }

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& it : std::filesystem::directory_iterator(folder)) {
    names.push_back(it.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<Imported> import_folder(const std::string& source,
                               const std::string& database, const GoOn& go_on) {
  auto dataset = open_folder(source);
  if (!dataset) return std::move(dataset).error();
  return import_samples(**dataset, database, go_on);
}

// A folder with a source of some pictures.
struct Source {
  TempFolder folder;
  std::string source = folder.path("in");
  std::string database = folder.path("out");

  explicit Source(int files = 0, size_t bytes = 100) {
    ::mkdir(source.c_str(), 0700);
    for (int i = 0; i < files; ++i) {
      write_file(source + "/" + number_key(static_cast<uint64_t>(i)) + ".jpg",
                 std::vector<uint8_t>(bytes, static_cast<uint8_t>(i)));
    }
  }
  Error error(const GoOn& go_on = always) const {
    auto imported = import_folder(source, database, go_on);
    REQUIRE_FALSE(imported);
    return imported.error();
  }
};

}  // namespace

TEST_CASE("each picture below a folder becomes a record, in byte order") {
  const Source it;
  ::mkdir((it.source + "/b").c_str(), 0700);
  const std::pair<const char*, size_t> files[] = {
      {"/a.jpg", 9000}, {"/b/a.jpg", 10}, {"/b/c.jpg", 1}, {"/c.jpg", 70000}};
  for (const auto& [name, bytes] : files) {
    write_file(it.source + name, std::vector<uint8_t>(bytes, name[1]));
  }
  write_file(it.source + "/b/index.txt", {1});
  REQUIRE(::symlink("nowhere", (it.source + "/link").c_str()) == 0);
  auto imported = import_folder(it.source, it.database + "/", always);
  REQUIRE(imported);
  CHECK(imported->records == 4);
  CHECK(imported->value_bytes == 79011);
  CHECK(imported->labels == 2);
  CHECK(imported->data_file == it.database + "/data.mdb");
  auto verified = verify(it.database, always);
  REQUIRE(verified);
  CHECK(verified->has_index);
  CHECK(names_in(it.database) ==
        std::vector<std::string>{"data.mdb", "data.mdb.penstock-index",
                                 "lock.mdb"});
  CHECK(names_in(it.folder.path()) == std::vector<std::string>{"in", "out"});
  const auto records = records_by_liblmdb(imported->data_file);
  REQUIRE(records.size() == 4);
  for (uint64_t i = 0; i < 4; ++i) {
    CHECK(records[i].key == number_key(i) + (i == 1 || i == 2 ? "/0" : ""));
    CHECK(records[i].hash ==
          checksum(std::string(files[i].second, files[i].first[1])));
  }
  auto database = Database::open(it.database, {});
  REQUIRE(database);
  CHECK(database->is_from_sidecar());
}

TEST_CASE("several transactions write one database") {
  const TempFolder folder;
  DatabaseWriter writer;
  REQUIRE(writer.open(folder.path(), uint64_t{64} << 20));
  for (uint64_t i = 0; i < 45000; ++i) {
    REQUIRE(writer.append(number_key(i), "value"));
  }
  REQUIRE(writer.finish());
  CHECK(verify(folder.path(), always)->records == 45000);
  CHECK(Database::open(folder.path(), {})->snapshot().meta.txnid == 3);
}

TEST_CASE("the map grows with the database") {
  const TempFolder folder;
  DatabaseWriter writer;
  REQUIRE(writer.open(folder.path(), uint64_t{1} << 20));
  std::mt19937_64 random(1);
  std::vector<uint64_t> hashes;
  for (uint64_t i = 0; i < 1000; ++i) {
    std::string value = random_value(random, 100000);
    hashes.push_back(checksum(value));
    const Status appended = writer.append(number_key(i), std::move(value));
    REQUIRE(appended);
  }
  REQUIRE(writer.finish());
  const auto records = records_by_liblmdb(folder.path("data.mdb"));
  REQUIRE(records.size() == 1000);
  for (size_t i = 0; i < 1000; ++i) CHECK(records[i].hash == hashes[i]);
}

TEST_CASE("a failed import is an error with its cause and leaves no file") {
  const Source there(1);
  ::mkdir(there.database.c_str(), 0700);
  Error error = there.error();
  CHECK(error.code == Code::kInvalidArgument);
  CHECK(error.message ==
        there.database + " is there already; remove it, or name another");

  const Source empty(2);
  write_file(empty.source + "/00000001.jpg", {});
  error = empty.error();
  CHECK(error.code == Code::kInvalidArgument);
  CHECK_THAT(error.message, ContainsSubstring("00000001.jpg: empty file"));

  Source nowhere(1);
  nowhere.database = nowhere.folder.path("none/out");
  error = nowhere.error();
  CHECK(error.code == Code::kInvalidArgument);
  CHECK_THAT(error.message,
             ContainsSubstring("name a database in a folder that you may "
                               "write in"));

  const Source large(3);
  REQUIRE(::truncate((large.source + "/00000001.jpg").c_str(),
                     (off_t{1} << 30) + 1) == 0);
  error = large.error();
  CHECK(error.code == Code::kInvalidArgument);
  CHECK_THAT(error.message,
             ContainsSubstring(
                 "nothing of " + large.database + " was kept: " + large.source +
                 "/00000001.jpg: 1073741825 bytes; allowed: up to "
                 "1 GiB"));
  CHECK(names_in(large.folder.path()) == std::vector<std::string>{"in"});
}

TEST_CASE("tensors are not imported") {
  const Source it;
  const std::string file = it.folder.path("records");
  write_file(file, {1, 2, 3});
  auto records = open_records(file, {1, 0, 0});
  REQUIRE(records);
  auto imported = import_samples(**records, it.database, always);
  REQUIRE_FALSE(imported);
  CHECK(imported.error().code == Code::kInvalidArgument);
  CHECK_THAT(imported.error().message,
             ContainsSubstring(file + ": records of a tensor"));
}

TEST_CASE("an interrupted import leaves no file") {
  const Source it(300);
  const Error error =
      it.error([](uint64_t done, uint64_t) { return done < 200; });
  CHECK(error.code == Code::kUnavailable);
  CHECK(error.message ==
        "nothing of " + it.database + " was kept: interrupted");
  CHECK(names_in(it.folder.path()) == std::vector<std::string>{"in"});
}

TEST_CASE("the error for a file removed during the import names it") {
  const Source it(300);
  const std::string victim = it.source + "/00000200.jpg";
  const Error error = it.error([&](uint64_t done, uint64_t) {
    if (done == 100) ::unlink(victim.c_str());
    return true;
  });
  CHECK(error.code == Code::kNotFound);
  CHECK_THAT(error.message, ContainsSubstring(victim));
  CHECK(names_in(it.folder.path()) == std::vector<std::string>{"in"});
}

TEST_CASE("a full disk is an error and leaves no file") {
  if (::geteuid() != 0) return;  // needs root, to mount a small one
  const Source it(300, 100000);
  const std::string disk = it.folder.path("disk");
  const std::string said = it.folder.path("said");
  ::mkdir(disk.c_str(), 0700);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", disk.c_str(), "tmpfs", 0, "size=4m") != 0) {
      ::_exit(77);
    }
    auto imported = import_folder(it.source, disk + "/out", always);
    const bool is_clean = names_in(disk).empty();
    write_file(said, bytes_of(imported ? "" : imported.error().message));
    ::_exit(is_clean ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return;
  CHECK(status == 0);
  const auto bytes = file_bytes(said);
  CHECK_THAT(
      std::string(bytes.begin(), bytes.end()),
      ContainsSubstring("No space left on device; free some space, or name a "
                        "database on another file system"));
}
