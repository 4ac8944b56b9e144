#include "node_agent/plan/file_reads.h"

#include "tests/unit/catch.h"

namespace penstock {
namespace {

const NetworkFile kOne{"nfs4", "/net", "/net/set/train/a/1.jpg"};
const NetworkFile kTwo{"nfs4", "/net", "/net/set/train/b/2.jpg"};
const NetworkFile kHome{"fuse.sshfs", "/home/ada", "/home/ada/train.py"};

ReadsLook look(uint64_t seconds, uint64_t bytes, uint64_t calls) {
  ReadsLook out;
  out.time_ns = seconds * 1'000'000'000;
  out.by_process[7] = {bytes, calls};
  return out;
}

TEST_CASE("a look is read line by line") {
  const auto read = parse_reads_look(
      "t\t12\np\t7\t4096\t2\np\t9\t0\t0\n"
      "f\tnfs4\t/net\t/net/a file\n");
  REQUIRE(read);
  CHECK(read->time_ns == 12);
  CHECK(read->by_process.size() == 2);
  CHECK(read->by_process.at(7).bytes == 4096);
  CHECK(read->by_process.at(7).calls == 2);
  CHECK(read->files == std::set<NetworkFile>{{"nfs4", "/net", "/net/a file"}});
  CHECK(parse_reads_look("")->by_process.empty());
}

TEST_CASE("a malformed look is refused") {
  for (const char* text :
       {"x", "t", "t\t-1", "t\t1\t2", "p\t7\t1", "p\t0\t1\t1", "p\t7\tx\t1",
        "p\t7\t1\t99999999999999999999", "f\tnfs4\t/net", "f\tnfs4\tnet\t/a",
        "f\tnfs4\t/net\ta", "f\tnfs4\t/net\t/a\t/b"}) {
    CAPTURE(text);
    const auto read = parse_reads_look(text);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == Code::kInvalidArgument);
  }
}

TEST_CASE("two looks tell reads per second, of all loaders") {
  const auto reads = network_reads(look(10, 1000, 10), look(15, 41000, 20),
                                   {kOne, kTwo, kHome}, 3);
  REQUIRE(reads);
  CHECK(reads->calls_per_s == Approx(6));
  CHECK(reads->bytes_per_call == Approx(4000));
  CHECK(reads->type == "nfs4");
  CHECK(reads->mount == "/net");
  CHECK(reads->source == "/net/set/train");
}

TEST_CASE("without what they have in common nothing is known") {
  const ReadsLook before = look(10, 1000, 10), after = look(15, 41000, 20);
  CHECK_FALSE(network_reads(before, after, {}, 1));
  CHECK_FALSE(network_reads(after, before, {kOne}, 1));  // no later one
  ReadsLook other = after;
  other.by_process = {{8, {41000, 20}}};
  CHECK_FALSE(network_reads(before, other, {kOne}, 1));
  // A later process of the same number.
  CHECK_FALSE(network_reads(before, look(15, 500, 20), {kOne}, 1));
  CHECK_FALSE(network_reads(before, look(15, 1000, 10), {kOne}, 1));
}

TEST_CASE("what is read is a file, a folder, or all of a mount") {
  const auto source = [](const std::set<NetworkFile>& files) {
    return network_reads(look(10, 0, 0), look(15, 5, 5), files, 1)->source;
  };
  CHECK(source({kOne}) == kOne.path);
  CHECK(source({kOne, {"nfs4", "/net", "/net/set/train/a/3.jpg"}}) ==
        "/net/set/train/a");
  CHECK(source({kOne, {"nfs4", "/net", "/net/set/trains/3.jpg"}}) ==
        "/net/set");
  CHECK(source({kOne, {"nfs4", "/net", "/net/other/3.jpg"}}).empty());
  CHECK(source({{"nfs", "/", "/a/1"}, {"nfs", "/", "/b/1"}}).empty());
  CHECK(source({{"nfs", "/", "/a/1"}, {"nfs", "/", "/a/2"}}) == "/a");
}

}  // namespace
}  // namespace penstock
