#include "loader/lmdb/mpi/reader_options.h"

#include <functional>
#include <string>
#include <vector>

#include "tests/unit/catch.h"

using namespace penstock;
using namespace penstock::lmdb;

TEST_CASE("the default options are compatible") {
  CHECK(check_options(ReaderOptions()));
}

TEST_CASE(
    "a switch without its requirement or a number out of range is refused by "
    "name") {
  const std::vector<std::pair<std::string, std::function<void(ReaderOptions&)>>>
      cases{
          {"lmm", [](auto& o) { o.lmm = false; }},
          {"dio", [](auto& o) { o.dm = o.coal = false; }},
          {"prov", [](auto& o) { o.dm = o.dio = o.coal = false; }},
          {"coal", [](auto& o) { o.dio = false; }},
          {"map_cached",
           [](auto& o) { o.dm = o.dio = o.coal = o.prov = false; }},
          {"shuffle",
           [](auto& o) {
             o.dm = o.dio = o.coal = o.prov = o.map_cached = false;
             o.shuffle = true;
           }},
          {"readers_per_node",
           [](auto& o) {
             o.stag = true;
             o.readers_per_node = 2;
           }},
          {"batch_records", [](auto& o) { o.batch_records = 0; }},
          {"stagger_width", [](auto& o) { o.stagger_width = 0; }},
          {"peer_timeout_ms", [](auto& o) { o.peer_timeout_ms = 1; }},
          {"ranks_per_buffer", [](auto& o) { o.ranks_per_buffer = 1U << 31; }},
      };
  for (const auto& [name, change] : cases) {
    ReaderOptions options;
    change(options);
    const Status status = check_options(options);
    INFO(name);
    REQUIRE(!status);
    CHECK(status.error().code == Code::kInvalidArgument);
    CHECK(status.error().message.find(name) != std::string::npos);
  }
}
