#include "common/units.h"

#include <cmath>
#include <limits>
#include <random>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE("rates accept Slurm's suffixes and common additions") {
  struct Row {
    const char* text;
    uint64_t bytes_per_s;
  };
  const Row rows[] = {
      {"1", 1},
      {"200M", 200u << 20},
      {"200MB", 200u << 20},
      {"200MB/s", 200u << 20},
      {"200MiB/s", 200u << 20},
      {"200M/s", 200u << 20},
      {"200m", 200u << 20},
      {"512B/s", 512},
      {"1.5G", 1610612736},
      {".5k", 512},
      {"4T", uint64_t{4} << 40},
      {"0.6", 1},  // rounded to whole bytes
      {"4611686018427387904", uint64_t{1} << 62},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto rate = parse_rate_bytes_per_s(row.text);
    REQUIRE(rate);
    CHECK(*rate == row.bytes_per_s);
  }
}

TEST_CASE("durations have a unit") {
  struct Row {
    const char* text;
    uint64_t ns;
  };
  const Row rows[] = {
      {"2ms", 2000000},        {"1.5s", 1500000000}, {"0s", 0},
      {"250us", 250000},       {"17ns", 17},         {"0.6ns", 1},
      {"3600s", 3600000000000}};
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto time_ns = parse_duration_ns(row.text);
    REQUIRE(time_ns);
    CHECK(*time_ns == row.ns);
  }
}

TEST_CASE("an invalid duration is refused and quoted") {
  for (const char* text : {"", "2", "ms", "-1ms", "2 ms", "2msx", "2m", "1e3ms",
                           "3601s", "nans", "infs"}) {
    CAPTURE(text);
    const auto time_ns = parse_duration_ns(text);
    REQUIRE_FALSE(time_ns);
    CHECK(time_ns.error().code == Code::kInvalidArgument);
    CHECK(time_ns.error().message.find('"' + std::string(text) + '"') == 0);
  }
}

TEST_CASE("an invalid rate is refused with the allowed form") {
  for (const char* text : {"",         "0",
                           "0.4",      "-1",
                           "-0",       "+1",
                           " 1",       "1 ",
                           "M",        "1X",
                           "1MM",      "1iB",
                           "1Ms",      "1M/sec",
                           "1Kib",     "1e3",
                           "0x10",     "inf",
                           "nan",      "1..5",
                           "1,5M",     "4611686018427389000",
                           "9999999T", "1M\n"}) {
    CAPTURE(text);
    const auto rate = parse_rate_bytes_per_s(text);
    REQUIRE_FALSE(rate);
    CHECK(rate.error().code == Code::kInvalidArgument);
    CHECK(rate.error().message.find("allowed: a number over 0") !=
          std::string::npos);
  }
}

TEST_CASE("a size has the form of a rate without the /s") {
  CHECK(parse_size_bytes("40G").value_or(0) == uint64_t{40} << 30);
  CHECK(parse_size_bytes("1.5KiB").value_or(0) == 1536);
  CHECK(parse_size_bytes("7").value_or(0) == 7);
  for (const char* text :
       {"", "0", "-1", "most", "1M/s", "1MB/s", "1M ", "nan", "5000000T"}) {
    CAPTURE(text);
    const auto size = parse_size_bytes(text);
    REQUIRE_FALSE(size);
    CHECK(size.error().code == Code::kInvalidArgument);
    CHECK(size.error().message ==
          "\"" + std::string(text) +
              "\" is not a size; allowed: a number over 0 with K, M, G or T, "
              "such as 200M or 1.5G");
  }
}

TEST_CASE("printed rates and sizes have three digits") {
  CHECK(format_rate(0) == "0 B/s");
  CHECK(format_rate(1) == "1 B/s");
  CHECK(format_rate(999) == "999 B/s");
  CHECK(format_rate(1000) == "0.98 KB/s");
  CHECK(format_rate(1024) == "1 KB/s");
  CHECK(format_rate(1.5 * 1024 * 1024 * 1024) == "1.5 GB/s");
  CHECK(format_rate(1.534 * 1024 * 1024) == "1.53 MB/s");
  CHECK(format_rate(99.96 * 1024) == "100 KB/s");
  CHECK(format_rate(999.6 * 1024) == "0.98 MB/s");
  CHECK(format_rate(-2048) == "-2 KB/s");
  CHECK(format_rate(std::nan("")) == "unknown");
  CHECK(format_rate(std::numeric_limits<double>::infinity()) == "unknown");
  CHECK(format_bytes(3 * 1048576.0) == "3 MB");
  CHECK(format_bytes(std::numeric_limits<double>::max()).ends_with(" EB"));
}

TEST_CASE("whole numbers are within their bounds, without other text") {
  CHECK(*parse_uint("7", 1, 9) == 7);
  CHECK(*parse_uint("1", 1, 9) == 1);
  CHECK(*parse_uint("9", 1, 9) == 9);
  CHECK(*parse_uint("18446744073709551615", 0, UINT64_MAX) == UINT64_MAX);
  for (const char* text : {"", "0", "10", "-1", "+1", " 1", "1 ", "1.0", "0x1",
                           "1K", "18446744073709551616"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_uint(text, 1, 9));
  }
  CHECK(parse_uint("x", 1, 9).error().message == "\"x\" must be 1 to 9");
}

TEST_CASE("numbers are finite and within their bounds") {
  CHECK(*parse_number("0.5", 0, 1) == 0.5);
  CHECK(*parse_number("1e-3", 0, 1) == 0.001);
  CHECK_FALSE(std::signbit(*parse_number("-0", 0, 1)));
  CHECK(*parse_number("-2", -3, 3) == -2);
  for (const char* text : {"", "1.1", "-0.1", "nan", "inf", "-inf", "0x1", "1 ",
                           " 1", "+1", "1e999", "0,5"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_number(text, 0, 1));
  }
  CHECK(parse_number("2", 0.001, 1).error().message ==
        "\"2\" must be 0.001 to 1");
}

TEST_CASE("hostile text is printed in printable characters and shortened") {
  CHECK(printable("a\x1b[31m\n") == "a?[31m?");
  CHECK(printable("\xc3\xa4") == "??");
  CHECK(printable("abcdef", 3) == "abc...");
  CHECK(printable("abc", 3) == "abc");
}

TEST_CASE("CPU lists are parsed in the kernel's form") {
  CHECK(CpuSet::parse("0-3,8\n")->cpus() == std::vector<int>{0, 1, 2, 3, 8});
  CHECK(CpuSet::parse("5")->to_string() == "5");
  CHECK(CpuSet::parse("3,1,2,2,1-1")->to_string() == "1-3");
  CHECK(CpuSet::parse("0-1")->to_string() == "0-1");
  CHECK(CpuSet::parse("4095")->cpus() == std::vector<int>{4095});
  CHECK(CpuSet::parse("0-4095")->size() == 4096);
  CHECK(CpuSet::parse("")->empty());
  CHECK(CpuSet::parse(" \n")->empty());
}

TEST_CASE("a malformed CPU list is refused") {
  for (const char* text :
       {"a", "1,", ",1", "1-", "-1", "3-1", "1--2", "4096", "0-4096", "1 2",
        "1, 2", "0-3:2/4", "99999999999", "1;2", "0x1"}) {
    CAPTURE(text);
    const auto set = CpuSet::parse(text);
    REQUIRE_FALSE(set);
    CHECK(set.error().message.find("allowed: numbers 0 to 4095") !=
          std::string::npos);
  }
}

TEST_CASE("a CPU set drops duplicates and invalid CPUs") {
  const CpuSet set({7, 1, 7, -1, 4096, 0});
  CHECK(set.cpus() == std::vector<int>{0, 1, 7});
  CHECK(set.contains(7));
  CHECK_FALSE(set.contains(2));
  CHECK(set.size() == 3);
}

TEST_CASE("sets of CPUs combine as sets do (random, seed 1)") {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> in_a, in_b;
    for (int cpu = 0; cpu < 70; ++cpu) {
      if (random() % 2) in_a.push_back(cpu);
      if (random() % 3 == 0) in_b.push_back(cpu);
    }
    const CpuSet a(in_a), b(in_b);
    for (int cpu = 0; cpu < 70; ++cpu) {
      CHECK((a | b).contains(cpu) == (a.contains(cpu) || b.contains(cpu)));
      CHECK((a & b).contains(cpu) == (a.contains(cpu) && b.contains(cpu)));
      CHECK((a - b).contains(cpu) == (a.contains(cpu) && !b.contains(cpu)));
    }
    CHECK(*CpuSet::parse(a.to_string()) == a);
  }
}

}  // namespace
}  // namespace penstock
