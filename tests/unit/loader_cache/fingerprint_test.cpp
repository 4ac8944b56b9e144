// Fingerprints distinguish data sets: a cache never serves another one.
#include "loader/data/fingerprint.h"

#include <sys/stat.h>

#include <filesystem>

#include "penstock/loader/dataset.h"
#include "tests/unit/catch.h"
#include "tests/unit/lmdb/lmdb_files.h"
#include "tests/unit/loader/pictures.h"
#include "tests/unit/loader/tars.h"

using namespace penstock;
using namespace penstock::test;

namespace fs = std::filesystem;

namespace {

constexpr RecordLayout kLayout{.record_bytes = 10, .label_bytes = 1};

uint64_t of(const Result<std::shared_ptr<const Dataset>>& dataset) {
  if (!dataset) FAIL(dataset.error().message);
  return (*dataset)->fingerprint();
}

// Replaces a file by another one.
void replace(const std::string& path, const std::vector<uint8_t>& bytes) {
  write_file(path + ".new", bytes);
  fs::rename(path + ".new", path);
}

// Sets an earlier modification time, beyond the clock's resolution.
void make_older(const std::string& path) {
  fs::last_write_time(path,
                      fs::last_write_time(path) - std::chrono::seconds(1));
}

std::vector<uint8_t> small_tar(const std::string& bytes) {
  return tar_of({{"0.jpg", bytes}, {"0.cls", "3"}});
}

// Pictures in the folder itself and in two below it.
struct Pictures {
  TempFolder folder;

  Pictures() {
    fs::create_directory(folder.path("cat"));
    fs::create_directory(folder.path("dog"));
    for (const char* name : {"0.jpg", "cat/1.jpg", "cat/2.jpg", "dog/3.jpg"}) {
      write_file(folder.path(name), bytes_of(name));
    }
    // Makes changes visible even within one clock tick.
    for (const char* name : {"", "cat", "dog"}) make_older(folder.path(name));
  }
  uint64_t fingerprint() const { return of(open_folder(folder.path())); }
};

// The fingerprint of an LMDB database's file.
void put(const std::string& file, const std::string& key,
         const std::string& value) {
  LmdbWriter writer(file);
  writer.begin();
  writer.put(key, value);
  writer.commit();
}

}  // namespace

TEST_CASE("the boundaries and the order of pieces count") {
  const auto of_texts = [](std::initializer_list<std::string_view> texts) {
    Fingerprint fingerprint;
    for (const std::string_view text : texts) fingerprint.add(text);
    return fingerprint.value();
  };
  CHECK(of_texts({"ab", "c"}) == of_texts({"ab", "c"}));
  CHECK(of_texts({"ab", "c"}) != of_texts({"a", "bc"}));
  CHECK(of_texts({"a", "b"}) != of_texts({"b", "a"}));
  CHECK(of_texts({"a", ""}) != of_texts({"a"}));
}

TEST_CASE("size, time and inode identify a file, the device does not") {
  const auto of_file = [](const FileVersion& file) {
    Fingerprint fingerprint;
    fingerprint.add(file);
    return fingerprint.value();
  };
  const FileVersion file{.bytes = 1, .modified_ns = 2, .device = 3, .inode = 4};
  FileVersion other = file;
  other.device = 9;
  CHECK(of_file(other) == of_file(file));
  other = file;
  other.bytes = 9;
  CHECK(of_file(other) != of_file(file));
  other = file;
  other.modified_ns = 9;
  CHECK(of_file(other) != of_file(file));
  other = file;
  other.inode = 9;
  CHECK(of_file(other) != of_file(file));
}

TEST_CASE("an unchanged folder keeps its fingerprint") {
  const Pictures pictures;
  CHECK(pictures.fingerprint() == pictures.fingerprint());
  const Pictures others;  // the same names elsewhere
  CHECK(pictures.fingerprint() != others.fingerprint());
}

TEST_CASE("a folder has the same fingerprint by any path") {
  const Pictures pictures;
  const std::string& path = pictures.folder.path();
  const TempFolder elsewhere;
  fs::create_directory_symlink(path, elsewhere.path("link"));
  const fs::path parent = fs::path(path).parent_path();
  const std::string name = fs::path(path).filename();
  for (const std::string& other :
       {path + "/", path + "//", path + "/.", parent.native() + "//" + name,
        parent.native() + "/./" + name, path + "/cat/..",
        elsewhere.path("link"), elsewhere.path("link") + "/"}) {
    CAPTURE(other);
    CHECK(of(open_folder(other)) == pictures.fingerprint());
  }
  const fs::path before = fs::current_path();
  fs::current_path(path);
  CHECK(of(open_folder(".")) == pictures.fingerprint());
  CHECK(of(open_folder("./")) == pictures.fingerprint());
  fs::current_path(before);
}

TEST_CASE("a folder with changed files has another fingerprint") {
  const Pictures pictures;
  const uint64_t before = pictures.fingerprint();
  SECTION("a file replaced") {
    replace(pictures.folder.path("cat/2.jpg"), bytes_of("other"));
  }
  SECTION("a file replaced by another of the same size") {
    replace(pictures.folder.path("cat/2.jpg"), bytes_of("tac/2.jpg"));
  }
  SECTION("a file renamed") {
    fs::rename(pictures.folder.path("cat/2.jpg"),
               pictures.folder.path("cat/4.jpg"));
  }
  SECTION("a file moved") {
    fs::rename(pictures.folder.path("cat/2.jpg"),
               pictures.folder.path("dog/2.jpg"));
  }
  SECTION("a file added") {
    write_file(pictures.folder.path("dog/5.jpg"), bytes_of("5"));
  }
  SECTION("a file removed") { fs::remove(pictures.folder.path("0.jpg")); }
  SECTION("a folder renamed") {
    fs::rename(pictures.folder.path("dog"), pictures.folder.path("eel"));
  }
  CHECK(pictures.fingerprint() != before);
}

TEST_CASE("a folder's fingerprint is that of its opening") {
  const Pictures pictures;
  auto opened = open_folder(pictures.folder.path());
  const uint64_t before = of(opened);
  write_file(pictures.folder.path("cat/9.jpg"), bytes_of("9"));
  CHECK(of(opened) == before);
}

TEST_CASE("the files and their order identify tar shards") {
  const TempFolder folder;
  const std::string a = folder.path("a.tar"), b = folder.path("b.tar");
  write_file(a, small_tar("one"));
  write_file(b, small_tar("two"));
  const uint64_t both = of(open_tar_shards({a, b}));
  CHECK(of(open_tar_shards({a, b})) == both);
  CHECK(of(open_tar_shards({folder.path("./a.tar"), b})) == both);
  CHECK(of(open_tar_shards({b, a})) != both);
  CHECK(of(open_tar_shards({a})) != both);
  SECTION("replaced") { replace(b, small_tar("two")); }
  SECTION("overwritten") {
    make_older(b);
    write_file(b, small_tar("too"));
  }
  SECTION("of another size") {
    write_file(b, small_tar(std::string(600, 'x')));
  }
  CHECK(of(open_tar_shards({a, b})) != both);
}

TEST_CASE("the rules that choose a shard's pictures and labels identify it") {
  const TempFolder folder;
  const std::string shard = folder.path("a.tar");
  write_file(shard,
             test::tar_of(
                 {{"0.left.png", "l"}, {"0.right.png", "r"}, {"0.cls", "1"}}));
  SampleRules left, right, bare;
  left.image = {"left.png"};
  right.image = bare.image = {"right.png"};
  bare.label = "";
  const uint64_t of_left = of(open_tar_shards({shard}, left));
  const uint64_t of_right = of(open_tar_shards({shard}, right));
  CHECK(of_left != of_right);
  CHECK(of(open_tar_shards({shard}, bare)) != of_right);
  CHECK(of(open_tar_shards({shard}, left)) == of_left);
}

TEST_CASE("the file and the layout identify records") {
  const TempFolder folder;
  const std::string file = folder.path("records.bin");
  write_file(file, std::vector<uint8_t>(60, 7));
  const uint64_t before = of(open_records(file, kLayout));
  CHECK(of(open_records(file, kLayout)) == before);
  CHECK(of(open_records(folder.path("./records.bin"), kLayout)) == before);
  RecordLayout layout = kLayout;
  layout.label_bytes = 2;
  CHECK(of(open_records(file, layout)) != before);
  layout = kLayout;
  layout.record_bytes = 20;
  CHECK(of(open_records(file, layout)) != before);
  layout = kLayout;
  layout.header_bytes = 10;
  CHECK(of(open_records(file, layout)) != before);
  SECTION("replaced") { replace(file, std::vector<uint8_t>(60, 7)); }
  SECTION("overwritten") {
    make_older(file);
    write_file(file, std::vector<uint8_t>(60, 8));
  }
  SECTION("of another size") { write_file(file, std::vector<uint8_t>(70, 7)); }
  CHECK(of(open_records(file, kLayout)) != before);
}

TEST_CASE("the file identifies a database") {
  const TempFolder folder;
  const std::string file = folder.path("data.mdb");
  put(file, "a", "value");
  make_older(file);
  const uint64_t before = of(open_lmdb(file));
  CHECK(of(open_lmdb(file)) == before);
  CHECK(of(open_lmdb(folder.path())) == before);
  SECTION("a record added") { put(file, "b", "value"); }
  SECTION("a value changed") { put(file, "a", "other"); }
  SECTION("replaced by a copy") {
    fs::copy(file, file + ".new");
    fs::rename(file + ".new", file);
  }
  CHECK(of(open_lmdb(file)) != before);
}
