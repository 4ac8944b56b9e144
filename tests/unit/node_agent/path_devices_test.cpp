#include "node_agent/path_devices.h"

#include <signal.h>

#include <cerrno>
#include <optional>

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"

using namespace penstock;

TEST_CASE("devices that the child writes are read back unchanged") {
  const std::vector<PathDevice> devices = {
      {"8:17", 0}, {"", 0}, {"", ENOENT}, {"259:4", 0}};
  auto parsed = parse_path_devices(format_path_devices(devices), 4);
  REQUIRE(parsed.ok());
  CHECK(*parsed == devices);
}

TEST_CASE("incomplete and malformed output of a child is refused") {
  for (const char* text :
       {"", "8:17 0", "8:17 0\n8:17", "8:17 0\n8:17 0\n8:17 0\n", "8-17 0\n",
        "x\n\n", "8:-1 0\n8:1 0\n", "99999999999:1 0\n8:1 0\n"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_path_devices(text, 2).ok());
  }
}

TEST_CASE("a partition is mapped to its whole disk") {
  TempDir sys;
  sys.write("devices/block/sda/dev", "8:0\n");
  sys.write("devices/block/sda/sda3/partition", "3\n");
  std::filesystem::create_directory(sys.path() / "dev");
  for (const auto& [number, place] :
       {std::pair{"8:0", "sda"}, {"8:3", "sda/sda3"}}) {
    std::filesystem::create_directory_symlink(
        std::string("../devices/block/") + place, sys.path() / "dev" / number);
  }
  const std::string links = (sys.path() / "dev").string();
  CHECK(whole_disk(links, "8:3") == "8:0");
  CHECK(whole_disk(links, "8:0") == "8:0");
  CHECK(whole_disk(links, "9:1") == "9:1");  // without sysfs
}

TEST_CASE("real paths without a device and missing paths are distinguished") {
  ::signal(SIGCHLD, SIG_IGN);
  auto loop = EventLoop::create();
  REQUIRE(loop.ok());
  BoundedChildren children(*loop);
  std::optional<Result<std::vector<PathDevice>>> answer;
  find_path_devices(children, {"/proc", "/does/not/exist"},
                    [&](Result<std::vector<PathDevice>> found) {
                      answer = std::move(found);
                      loop->stop();
                    });
  REQUIRE(loop->run().ok());
  REQUIRE(answer->ok());
  CHECK((**answer)[0] == PathDevice{"", 0});
  CHECK((**answer)[1] == PathDevice{"", ENOENT});
}
