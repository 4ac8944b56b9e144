// `penstock cache` on the command line.
#include "tools/penstock/cache_command.h"

#include <grp.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "fake_agent.h"
#include "penstock/loader/sample_cache.h"
#include "ran.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

// Twenty records of 5000 bytes, and a tmpfs folder for their caches.
struct Node {
  ScratchDirectory directory;
  std::string data = directory.file("records"), base, folder;

  Node() {
    directory.write("records", std::string(size_t{20} * 5000, 'r'));
    char name[] = "/dev/shm/penstock-test-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    base = name;
    ::setenv("PENSTOCK_CACHE_DIR", name, 1);
    folder = base + "/penstock-cache-" + std::to_string(::geteuid());
  }
  ~Node() {
    ::unsetenv("PENSTOCK_CACHE_DIR");
    std::filesystem::remove_all(base);
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Ran warm(const std::vector<std::string>& options,
           const std::string& size = "1M") const {
    std::vector<std::string> words = {"cache", "warm",   data, "--record-bytes",
                                      "5000",  "--size", size};
    words.insert(words.end(), options.begin(), options.end());
    return Ran(words);
  }
  bool is_there(const std::string& name) const {
    return std::filesystem::exists(folder + "/" + name + ".cache");
  }
};

nlohmann::json status() {
  const Ran ran({"cache", "status", "--json"});
  REQUIRE(ran.code == kExitOk);
  return nlohmann::json::parse(ran.out);
}

TEST_CASE("without a cache status names the empty folder") {
  const Node node;
  const Ran ran({"cache", "status"});
  CHECK(ran.code == kExitOk);
  CHECK(ran.out == "no cache in " + node.folder + "\n");
  CHECK(status() == nlohmann::json::array());
  const Ran all({"cache", "drop", "--all"});
  CHECK(all.code == kExitOk);
  CHECK(all.out.empty());
}

TEST_CASE("a cache is filled once, shown and dropped") {
  const Node node;
  const Ran filled = node.warm({"--name", "mine"});
  REQUIRE(filled.code == kExitOk);
  CHECK(filled.out == node.folder +
                          "/mine.cache: 20 of 20 samples, 97.7 KB; 97.7 KB "
                          "read from storage; kept for 600 s\n");
  const Ran again = node.warm({"--name", "mine", "--keep", "60"});
  CHECK(again.out.find("97.7 KB; 0 B read from storage; kept for 600 s\n") !=
        std::string::npos);  // the longest requested time

  const Ran text({"cache", "status"});
  CHECK(text.code == kExitOk);
  CHECK(text.out.starts_with("mine: " + node.data +
                             "\n  20 of 20 samples (100.0%), "));
  CHECK(text.out.find("unused for 0 s, kept for 600 s\n") != std::string::npos);
  CHECK(text.out.find("  hits 0 of 20 (0.0%), 0 B not read from storage\n") !=
        std::string::npos);

  const Ran dropped({"cache", "drop", "mine"});
  CHECK(dropped.code == kExitOk);
  CHECK(dropped.out == "mine: dropped\n");
  CHECK_FALSE(std::filesystem::exists(node.folder));
}

TEST_CASE("status as JSON has the figures of the cache's file") {
  const Node node;
  REQUIRE(node.warm({"--name", "mine"}).code == kExitOk);
  auto dataset = open_dataset({node.data}, RecordLayout{5000, 0, 0});
  REQUIRE(dataset);
  auto cache =
      SampleCache::open(**dataset, {.name = "mine", .most_bytes = 1 << 20});
  REQUIRE(cache);
  std::vector<uint8_t> sample(5000);
  int64_t label = 0;
  REQUIRE((*cache)->read(3, sample, label));
  const auto json = status();
  REQUIRE(json.size() == 1);
  const auto& it = json[0];
  CHECK(it["name"] == "mine");
  CHECK(it["path"] == node.folder + "/mine.cache");
  CHECK(it["data_set"] == node.data);
  CHECK(it["samples"] == 20);
  CHECK(it["cached_samples"] == 20);
  CHECK(it["cached_bytes"] == 20 * (5000 + 8));
  CHECK(it["memory_bytes"] >= 20 * 5000);
  CHECK(it["hits"] == 1);
  CHECK(it["hit_bytes"] == 5000);
  CHECK(it["misses"] == 20);
  CHECK(it["dropped"] == 0);
  CHECK(it["damaged"] == 0);
  CHECK(it["processes"] == 1);
  CHECK(it["keep_s"] == 600);
  CHECK(it["created_s"] > 1700000000);
  CHECK(it["used_s"] >= it["created_s"]);
  CHECK(it["unknown"] == false);
  CHECK(Ran({"cache", "status"}).out.find(", 1 process\n") !=
        std::string::npos);
}

TEST_CASE("a cache that is dropped in use stays readable") {
  const Node node;
  REQUIRE(node.warm({"--name", "mine"}).code == kExitOk);
  auto dataset = open_dataset({node.data}, RecordLayout{5000, 0, 0});
  REQUIRE(dataset);
  auto cache =
      SampleCache::open(**dataset, {.name = "mine", .most_bytes = 1 << 20});
  REQUIRE(cache);
  CHECK(Ran({"cache", "drop", "mine"}).code == kExitOk);
  CHECK_FALSE(node.is_there("mine"));
  std::vector<uint8_t> sample(5000);
  int64_t label = 0;
  CHECK((*cache)->read(3, sample, label));
}

TEST_CASE("drop --all drops every cache") {
  const Node node;
  for (const char* name : {"a", "b"}) {
    REQUIRE(node.warm({"--name", name}).code == kExitOk);
  }
  const Ran dropped({"cache", "drop", "--all"});
  CHECK(dropped.code == kExitOk);
  CHECK(dropped.out == "a: dropped\nb: dropped\n");
  CHECK(status().empty());
}

TEST_CASE("a cache of another version is shown and can be dropped") {
  const Node node;
  REQUIRE(node.warm({"--name", "b"}).code == kExitOk);
  std::ofstream(node.folder + "/a.cache") << std::string(4000, 'x');
  std::filesystem::copy(node.folder + "/b.cache",
                        node.folder + "/\x1b[2J.cache");
  const Ran shown({"cache", "status"});
  CHECK(shown.code == kExitOk);
  CHECK(shown.out.starts_with(
      "a: 4 KB of memory; of another version of Penstock, damaged, or not to "
      "be read; remove it with `penstock cache drop a`\nb: "));
  CHECK(shown.out.find('\x1b') == std::string::npos);
  const auto json = status();
  REQUIRE(json.size() == 2);
  CHECK(json[0]["unknown"] == true);
  CHECK(json[1]["unknown"] == false);
  CHECK(Ran({"cache", "drop", "--all"}).out == "a: dropped\nb: dropped\n");
  CHECK_FALSE(node.is_there("a"));
  CHECK_FALSE(node.is_there("b"));
}

TEST_CASE("unreadable samples are counted, and the first error is shown") {
  const Node node;
  const std::string folder = node.directory.file("pictures");
  std::filesystem::create_directory(folder);
  for (const char* name : {"/a.jpg", "/b.jpg", "/c.jpg"}) {
    std::ofstream(folder + name) << (name[1] == 'b' ? "" : "picture");
  }
  const Ran some({"cache", "warm", folder, "--size", "1M", "--name", "some"});
  CHECK(some.code == kExitInternal);
  CHECK(some.out.find(": 2 of 3 samples, ") != std::string::npos);
  CHECK(
      some.said("penstock: 1 of 3 samples cannot be read; the first error: "));
  CHECK(some.said("b.jpg"));
  CHECK(node.is_there("some"));
  for (const char* name : {"/a.jpg", "/c.jpg"}) std::ofstream(folder + name);
  const Ran none({"cache", "warm", folder, "--size", "1M", "--name", "none"});
  CHECK(none.code == kExitUsage);  // empty files are no samples
  CHECK(none.said(".jpg"));
  CHECK_FALSE(node.is_there("none"));
}

TEST_CASE("a refusal by the system is reported on standard error") {
  const Node node;
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto old = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{rlim_t{60} << 10, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const Ran ran = node.warm({"--name", "mine"});
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, old);
  CHECK(ran.code == kExitOk);
  CHECK(ran.said("penstock: "));
  CHECK(ran.said("not filled to the 1048576 bytes"));
  CHECK(ran.out.find("; it is full\n") != std::string::npos);
}

TEST_CASE("a CacheKeep shorter than --keep is reported") {
  const ScratchDirectory directory;
  const std::string config = directory.file("penstock.conf");
  const CacheOwner owner;
  CHECK(shorter_keep(owner, 600, config).empty());
  directory.write("penstock.conf", "CacheKeep=60\n");
  CHECK(shorter_keep(owner, 600, config) ==
        "where penstockd runs it removes the cache 60 s after its last use: "
        "CacheKeep in " +
            config + " is less than 600 s");
  CHECK(shorter_keep(owner, 60, config).empty());
  CHECK(shorter_keep({.base = "/dev/shm/mine"}, 600, config).empty());
  directory.write("penstock.conf", "CacheKeep=ever\n");
  CHECK(shorter_keep(owner, 600, config).empty());
}

TEST_CASE("a cache stays within its size") {
  const Node node;
  const Ran filled = node.warm({"--name", "mine"}, "52K");
  CHECK(filled.code == kExitOk);
  CHECK(filled.out.find(": 10 of 20 samples, ") != std::string::npos);
  CHECK(filled.out.ends_with("; it is full\n"));
}

TEST_CASE("a group's caches are in its own folder") {
  const Node node;
  const std::string number = std::to_string(::getegid());
  REQUIRE(node.warm({"--name", "ours", "--group", number}).code == kExitOk);
  const std::string path = node.base + "/penstock-cache-g" + number;
  struct stat found {};
  REQUIRE(::stat((path + "/ours.cache").c_str(), &found) == 0);
  CHECK((found.st_mode & 07777) == 0660);
  CHECK(status().empty());
  const struct group* named = ::getgrgid(::getegid());
  const std::string name = named != nullptr ? named->gr_name : number;
  CHECK(Ran({"cache", "status", "--group", name}).out.starts_with("ours: "));
  CHECK(Ran({"cache", "drop", "ours", "--group", name}).code == kExitOk);
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("each error has its exit code") {
  const Node node;
  REQUIRE(node.warm({"--name", "mine"}).code == kExitOk);
  struct Wrong {
    std::vector<std::string> words;
    int code;
    std::string says;
  };
  const std::string missing = node.directory.file("none");
  const std::vector<Wrong> all = {
      Wrong{{"cache"}, kExitUsage, ""},
      Wrong{{"cache", "warm"}, kExitUsage, "DATA"},
      Wrong{{"cache", "drop"}, kExitUsage, "a NAME is needed"},
      Wrong{{"cache", "drop", "other"}, kExitNoData, "other.cache: No such"},
      Wrong{{"cache", "drop", "a/b"}, kExitUsage, "letters"},
      Wrong{{"cache", "status", "--group", "no such"},
            kExitNoData,
            "there is no such group"},
      Wrong{{"cache", "warm", missing}, kExitNoData, missing},
      Wrong{{"cache", "warm", node.data, "--record-bytes", "5000", "--size",
             "most"},
            kExitUsage,
            "--size: \"most\" is not a size; allowed"},
      Wrong{{"cache", "warm", node.data, "--name", ""}, kExitUsage, "letters"},
      Wrong{{"cache", "warm", ""}, kExitUsage, "must not be empty"},
      Wrong{
          {"cache", "status", "--group", ""}, kExitUsage, "must not be empty"},
      Wrong{{"cache", "status", "--group", "4294967295"},
            kExitNoData,
            "there is no such group"},
      Wrong{{"cache", "drop", "mine", "--all"}, kExitUsage, "excludes"},
      Wrong{{"cache", "warm", node.data, "--keep", "0"}, kExitUsage, "--keep"},
      Wrong{{"cache", "warm", node.data, "--label-bytes", "1"},
            kExitUsage,
            "--record-bytes"},
      Wrong{{"cache", "warm", node.data, "--record-bytes", "2500", "--size",
             "1M", "--name", "mine"},
            kExitUsage,
            "mine.cache: holds other data, 20 samples of "}};
  for (const Wrong& wrong : all) {
    const Ran ran(wrong.words);
    INFO(ran.errors);
    CHECK(ran.code == wrong.code);
    CHECK(ran.said(wrong.says));
  }
}

TEST_CASE("a folder that others can access, or outside memory, is refused") {
  const Node node;
  REQUIRE(::mkdir(node.folder.c_str(), 0755) == 0);
  REQUIRE(::chmod(node.folder.c_str(), 0755) == 0);
  for (const char* command : {"status", "drop"}) {
    const Ran ran(command == std::string("drop")
                      ? std::vector<std::string>{"cache", "drop", "mine"}
                      : std::vector<std::string>{"cache", "status"});
    CHECK(ran.code == kExitNoData);
    CHECK(ran.said("others can get at it"));
  }
  CHECK(node.warm({}).code == kExitNoData);
  ::setenv("PENSTOCK_CACHE_DIR", "/proc", 1);
  const Ran ran = node.warm({});
  CHECK(ran.code == kExitUsage);
  CHECK(ran.said("/proc: no tmpfs"));
  CHECK(ran.said("PENSTOCK_CACHE_DIR"));
}

TEST_CASE("after warm the old action of SIGINT is restored") {
  const Node node;
  struct sigaction before {
  }, after{};
  ::sigaction(SIGINT, nullptr, &before);
  REQUIRE(node.warm({}).code == kExitOk);
  ::sigaction(SIGINT, nullptr, &after);
  CHECK(before.sa_handler == after.sa_handler);
}

}  // namespace
}  // namespace penstock
