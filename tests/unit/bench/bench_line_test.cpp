// `penstock bench` on the command line: arguments, help, messages and exit
// codes.
#include "bench/bench_line.h"

#include <sstream>

#include "tests/unit/catch.h"
#include "tests/unit/tools/documented.h"

namespace penstock {
namespace {

struct Ran {
  explicit Ran(std::vector<const char*> words) {
    words.insert(words.begin(), "penstock-bench");
    Terminal terminal{out};
    code = run_bench_line(static_cast<int>(words.size()), words.data(),
                          terminal, errors);
  }

  std::ostringstream out, errors;
  int code = -1;
};

TEST_CASE("usage errors exit with 2 and name the fault") {
  struct Row {
    std::vector<const char*> words;
    const char* message;
  };
  const Row rows[] = {
      {{}, "NAME is required"},
      {{"everything"},
       "not in {advice,allocator,analyze,cache,ctld,exchange,lmdb,loader,"
       "memory,observe,staging,submit,unmodified}"},
      {{"exchange", "--parts", "selection,100g"}, "100g not in"},
      {{"exchange", "--rounds", "0"}, "--rounds"},
      {{"analyze", "--jobs", "res50,bert"}, "bert not in"},
      {{"analyze", "--rounds", "0"}, "--rounds"},
      {{"loader", "--rounds", "101"}, "--rounds"},
      {{"lmdb", "--rounds", "0"}, "--rounds"},
      {{"loader", "--peers", "/nowhere"}, "/nowhere"},
  };
  for (const Row& row : rows) {
    Ran ran(row.words);
    INFO(row.message);
    CHECK(ran.code == kExitUsage);
    CHECK(ran.errors.str().find(row.message) != std::string::npos);
    CHECK(ran.out.str().empty());
  }
}

TEST_CASE("the manual page names every option") {
  const Ran help({"--help"});
  CHECK(help.code == kExitOk);
  CHECK(help.out.str().find("Usage: penstock bench") != std::string::npos);
  check_documented("bench", "bench", help.out.str());
}

}  // namespace
}  // namespace penstock
