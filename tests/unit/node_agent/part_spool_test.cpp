#include "node_agent/part_spool.h"

#include <fcntl.h>
#include <sys/resource.h>

#include "common/unique_fd.h"
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"

using namespace penstock;

namespace {

ReportPart part_of(uint64_t job) { return {job, 1000, 5.5, 7.5, "00ff"}; }

std::vector<ReportPart> parts(const std::vector<PartSpool::Due>& due) {
  std::vector<ReportPart> out;
  for (const PartSpool::Due& it : due) out.push_back(it.part);
  return out;
}

struct Spool {
  TempDir directory;
  UniqueFd fd{::open(directory.path().c_str(), O_RDONLY | O_DIRECTORY)};
  PartSpool it{fd.get(), 1};

  bool has(const char* name) const {
    return std::filesystem::exists(directory.path() / name);
  }
};

}  // namespace

TEST_CASE("a part stays on the disk until its controller keeps it") {
  Spool spool;
  REQUIRE(spool.it.add(part_of(7)));
  CHECK(spool.has("part.7.5500"));
  CHECK(parts(spool.it.due(0)) == std::vector{part_of(7)});
  CHECK(spool.it.due(0).empty());
  spool.it.kept({7, 5.5, 6.5}, 0);  // an earlier report of the run
  CHECK(spool.has("part.7.5500"));
  spool.it.kept({7, 5.5, 7.5}, 0);
  CHECK_FALSE(spool.has("part.7.5500"));
}

TEST_CASE("a restarted penstockd sends what an earlier one left") {
  Spool spool;
  REQUIRE(spool.it.add(part_of(7)));
  spool.directory.write("tasks.json", "{}");
  spool.directory.write("part.new", "half of a part");
  PartSpool next(spool.fd.get(), 1);
  REQUIRE(next.load());
  CHECK(parts(next.due(0)) == std::vector{part_of(7)});
  next.kept({7, 5.5, 7.5}, 0);
  CHECK_FALSE(spool.has("part.7.5500"));
}

TEST_CASE("a part that cannot be read is let go") {
  Spool spool;
  spool.directory.write("part.7.5500", "{\"id\": 7");
  spool.directory.write("part.8.5500", "{}");
  std::filesystem::create_symlink("/etc/passwd",
                                  spool.directory.path() / "part.9.5500");
  REQUIRE(spool.it.load());
  CHECK(spool.it.due(0).empty());
  CHECK(spool.it.lost() == 3);
  for (const char* name : {"part.7.5500", "part.8.5500", "part.9.5500"}) {
    CHECK_FALSE(spool.has(name));
  }
}

TEST_CASE("a part that cannot be written is an error") {
  Spool spool;
  spool.directory.write("part.7.5500/in/the/way", "");
  CHECK_FALSE(spool.it.add(part_of(7)));
  CHECK(spool.it.due(0).empty());
}
