// `penstock lmdb` on the command line.
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "fake_agent.h"
#include "ran.h"
#include "tests/unit/catch.h"
#include "tests/unit/loader/tars.h"

namespace penstock {
namespace {

struct Imported {
  ScratchDirectory directory;
  std::string source = directory.file("in"), database = directory.file("db");

  Imported() {
    std::filesystem::create_directory(source);
    for (int i = 0; i < 20; ++i) {
      directory.write("in/" + std::to_string(i) + ".jpg",
                      std::string(5000, 'v'));
    }
  }
};

TEST_CASE("a folder is imported, verified and indexed") {
  const Imported it;
  Ran imported({"lmdb", "import", it.source, it.database});
  REQUIRE(imported.code == kExitOk);
  CHECK(imported.out ==
        it.database +
            "/data.mdb: 20 records, 97.7 KB, no labels; index: 144 B\n");
  Ran verified({"lmdb", "verify", it.database});
  CHECK(verified.code == kExitOk);
  CHECK(verified.out == it.database +
                            ": 20 records, 97.7 KB, as liblmdb reads them; "
                            "index: the same\n");
  Ran indexed({"lmdb", "index", it.database});
  CHECK(indexed.code == kExitOk);
  CHECK(indexed.out == it.database +
                           "/data.mdb: 20 records, all computed; index: " +
                           it.database + "/data.mdb.penstock-index, 144 B\n");
  Ran as_json({"lmdb", "index", it.database, "--json"});
  REQUIRE(as_json.code == kExitOk);
  const auto json = nlohmann::json::parse(as_json.out);
  CHECK(json["database"] == it.database + "/data.mdb");
  CHECK(json["index"] == it.database + "/data.mdb.penstock-index");
  CHECK(json["index_bytes"] == 144);
  CHECK(json["records"] == 20);
  CHECK(json["computed"] == 20);
  CHECK(json["walk_s"].is_number());
}

TEST_CASE("a folder and tar shards are imported with their labels") {
  const Imported it;
  std::filesystem::create_directory(it.source + "/class");
  it.directory.write("in/class/1.png", "x");
  Ran some({"lmdb", "import", it.source, it.database});
  CHECK(some.code == kExitOk);
  CHECK(some.out.find(": 21 records, 97.7 KB, 1 labelled; index: ") !=
        std::string::npos);
  std::vector<std::string> words = {"lmdb", "import"};
  for (const char* name : {"0.tar", "1.tar"}) {
    const auto tar = test::tar_of({{"a.jpg", "picture"}, {"a.cls", "5"}});
    it.directory.write(name, std::string(tar.begin(), tar.end()));
    words.push_back(it.directory.file(name));
  }
  words.push_back(it.directory.file("shards"));
  Ran shards(words);
  CHECK(shards.code == kExitOk);
  CHECK(shards.out.find(": 2 records, 14 B, all labelled; index: ") !=
        std::string::npos);
  Ran again({"lmdb", "import", it.database, it.directory.file("other")});
  CHECK(again.code == kExitUsage);
  CHECK(again.said(it.database + ": an LMDB database already; copy it"));
  Ran file({"lmdb", "import", it.source + "/0.jpg", it.directory.file("o")});
  CHECK(file.code == kExitUsage);
  CHECK(file.said("neither a folder of pictures nor a tar shard (.tar)"));
}

TEST_CASE("verify reports a missing or unused index") {
  const Imported it;
  REQUIRE(Ran({"lmdb", "import", it.source, it.database}).code == kExitOk);
  it.directory.write("db/data.mdb.penstock-index", "x");
  Ran unused({"lmdb", "verify", it.database});
  CHECK(unused.code == kExitOk);
  CHECK(unused.out.find("index: not used, ") != std::string::npos);
  std::filesystem::remove(it.database + "/data.mdb.penstock-index");
  Ran none({"lmdb", "verify", it.database});
  CHECK(none.code == kExitOk);
  CHECK(none.out.find("index: none\n") != std::string::npos);
}

TEST_CASE("each error of penstock lmdb has its exit code") {
  const Imported it;
  Ran missing({"lmdb", "verify", it.database});
  CHECK(missing.code == kExitNoData);
  CHECK(missing.said(it.database + ": No such file"));
  Ran other({"lmdb", "index", it.source + "/0.jpg"});
  CHECK(other.code == kExitUsage);
  CHECK(other.said("no LMDB database"));
  CHECK(Ran({"lmdb"}).code == kExitUsage);
  CHECK(Ran({"lmdb", "index"}).code == kExitUsage);
  CHECK(Ran({"lmdb", "import", it.source}).code == kExitUsage);
  CHECK(Ran({"lmdb", "verify", ""}).code == kExitUsage);
  REQUIRE(Ran({"lmdb", "import", it.source, it.database}).code == kExitOk);
  std::filesystem::resize_file(it.database + "/data.mdb", 20000);
  Ran damaged({"lmdb", "verify", it.database});
  CHECK(damaged.code == kExitInternal);
  CHECK(damaged.said("truncated"));
}

TEST_CASE("after an import the old action of SIGINT is restored") {
  const Imported it;
  struct sigaction before {
  }, after{};
  ::sigaction(SIGINT, nullptr, &before);
  REQUIRE(Ran({"lmdb", "import", it.source, it.database}).code == kExitOk);
  ::sigaction(SIGINT, nullptr, &after);
  CHECK(before.sa_handler == after.sa_handler);
}

}  // namespace
}  // namespace penstock
