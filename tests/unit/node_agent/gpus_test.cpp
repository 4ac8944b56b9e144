#include "node_agent/plan/gpus.h"

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

const std::map<int, CpuSet> kNear = {
    {0, CpuSet({0, 1})}, {1, CpuSet({2, 3})}, {10, CpuSet({8})}};

CpuSet near(std::string_view slurm_gpus) {
  return cpus_near(kNear, slurm_gpus);
}

std::string error_of(std::string_view text) {
  Result<std::vector<Gpu>> gpus = parse_gpus(text);
  REQUIRE_FALSE(gpus.ok());
  CHECK(gpus.error().code == Code::kInvalidArgument);
  return gpus.error().message;
}

}  // namespace

TEST_CASE("a task's GPUs are parsed from Slurm's list") {
  CHECK(near("0") == CpuSet({0, 1}));
  CHECK(near("0,1") == CpuSet({0, 1, 2, 3}));
  CHECK(near("0-1,10") == CpuSet({0, 1, 2, 3, 8}));
  CHECK(near("1") == CpuSet({2, 3}));
  CHECK(near("").empty());
}

TEST_CASE("absent GPUs have no near CPUs") {
  CHECK(near("7").empty());
  CHECK(near("1,7") == CpuSet({2, 3}));
  CHECK(cpus_near({}, "0").empty());
}

TEST_CASE("hostile text in place of GPU numbers is ignored") {
  for (const char* text : {"gpu:0",
                           "0,",
                           ",0",
                           "0;1",
                           "-1",
                           "1-0",
                           "0-",
                           "0x1",
                           "1e0",
                           "0 1",
                           "0-4096",
                           "99999999999999999999",
                           "0-99999999999",
                           "MIG-GPU-0/1/2",
                           "MIG-8f2c1b44-6a1e-5d1c-9c52-2f0a3f4f7b11",
                           "GPU-8f2c",
                           "NoDevFiles",
                           "\xff\xfe",
                           "0\x01",
                           "0,\x1b[2J"}) {
    CAPTURE(text);
    CHECK(near(text).empty());
  }
  CHECK(near(std::string_view("0\0,1", 4)).empty());
}

TEST_CASE("a list that fills its field is ignored, since it may be truncated") {
  std::string text = "1";
  while (text.size() < 63) text += ",1";
  CHECK(near(text) == CpuSet({2, 3}));  // 63 bytes
  CHECK(near(text + "0").empty());      // 64: the last may have been 100
}

TEST_CASE("GPUs that the child writes are read back unchanged") {
  const std::vector<Gpu> gpus = {{0, 1, {0, 0x17, 0, 0}},
                                 {1, -1, {0x10000, 0xff, 0x1f, 7}}};
  CHECK(*parse_gpus(format_gpus(gpus)) == gpus);
  CHECK(parse_gpus(format_gpus({}))->empty());
  CHECK(to_string(gpus[0].pci) == "0000:17:00.0");
  CHECK(to_string(gpus[1].pci) == "10000:ff:1f.7");
}

TEST_CASE("malformed output of a child is refused") {
  CHECK_THAT(error_of(""), Catch::Matchers::ContainsSubstring("cut short"));
  CHECK_THAT(error_of("0 1 0 23 0 0\n"),
             Catch::Matchers::ContainsSubstring("cut short"));
  CHECK_THAT(error_of("0 1 0 23 0 0\nend"),
             Catch::Matchers::ContainsSubstring("cut short"));
  CHECK_THAT(error_of("end\nend\n"),
             Catch::Matchers::ContainsSubstring("after the end"));
  for (const char* line :
       {"", "0 1 0 23 0", "0 1 0 23 0 0 0", "256 1 0 23 0 0", "-1 1 0 23 0 0",
        "0 1 0 256 0 0", "0 1 0 23 32 0", "0 1 0 23 0 8",
        "0 1 4294967296 23 0 0", "0 1 0 0x17 0 0", "0  1 0 23 0 0"}) {
    CAPTURE(line);
    CHECK_THAT(error_of(std::string(line) + "\nend\n"),
               Catch::Matchers::ContainsSubstring("not a line"));
  }
  CHECK_THAT(error_of("0 1 0 23 0 0\n0 2 0 24 0 0\nend\n"),
             Catch::Matchers::ContainsSubstring("already"));
  CHECK_THAT(error_of("0 1 0 23 0 0\n1 2 0 23 0 0\nend\n"),
             Catch::Matchers::ContainsSubstring("already"));
}

TEST_CASE("GPUs are described in one line") {
  const std::vector<Gpu> gpus = {{0, 1, {0, 0x17, 0, 0}},
                                 {2, -1, {1, 0x97, 0, 0}}};
  CHECK(describe(gpus, {{0, CpuSet({0, 1, 5})}}) ==
        "0 at 0000:17:00.0 (/dev/nvidia1) near CPUs 0-1,5, "
        "2 at 0001:97:00.0 near CPUs unknown");
  CHECK(describe({}, {}) == "none");
}

TEST_CASE("device files with other numbers than their GPUs are detected") {
  CHECK(numbered_as_files({}));
  CHECK(numbered_as_files({{0, 0, {}}, {3, 3, {}}, {4, -1, {}}}));
  CHECK_FALSE(numbered_as_files({{0, 1, {}}, {1, 0, {}}}));
}

TEST_CASE("a GPU's near CPUs are those of its PCI address") {
  const std::map<PciAddress, CpuSet> near_pci = {
      {{0, 0x17, 0, 0}, CpuSet({0, 1})}, {{0, 0x97, 0, 0}, CpuSet({2, 3})}};
  const std::vector<Gpu> gpus = {{0, 1, {0, 0x97, 0, 0}},
                                 {1, 0, {0, 0x17, 0, 0}},
                                 {2, 2, {1, 0x17, 0, 0}}};
  const std::map<int, CpuSet> expected = {{0, CpuSet({2, 3})},
                                          {1, CpuSet({0, 1})}};
  CHECK(cpus_by_gpu(gpus, near_pci) == expected);
}
