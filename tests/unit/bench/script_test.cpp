// Complete and partial results of a benchmark's script.
#include "bench/script.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/unit/catch.h"
#include "tests/unit/tools/fake_agent.h"
#include "tools/penstock/read_file.h"

namespace penstock {
namespace {

constexpr auto kFigures =
    R"([{"name": "f", "value": 2, "unit": "1", "spread": 0.5, "runs": 3}])";

struct Shown {
  ScratchDirectory folder;
  std::string json_file = folder.file("figures.json");
  std::ostringstream out;
  Terminal terminal{out};

  Status show(const ScriptEnd& end) {
    return show_figures({"lmdb", {}}, end, json_file, terminal);
  }
  void check_figures() const {
    CHECK(out.str().find("\nf ") != std::string::npos);
    const Result<std::string> text = read_file(json_file, 1 << 20);
    REQUIRE(text);
    CHECK(nlohmann::json::parse(*text)["figures"][0]["name"] == "f");
  }
};

}  // namespace

TEST_CASE("figures are shown and written") {
  Shown shown;
  CHECK(shown.show({kFigures, true}));
  shown.check_figures();
}

TEST_CASE("measurements before a failure are shown and written") {
  Shown shown;
  const Status status = shown.show({kFigures, false});
  REQUIRE_FALSE(status);
  CHECK(status.error().code == Code::kUnavailable);
  CHECK(status.error().message.find("bench lmdb did not finish") == 0);
  shown.check_figures();
}

TEST_CASE("a script without measurements writes no file") {
  Shown shown;
  const Status status = shown.show({"", false});
  REQUIRE_FALSE(status);
  CHECK(status.error().code == Code::kUnavailable);
  CHECK(shown.out.str().empty());
  CHECK_FALSE(std::filesystem::exists(shown.json_file));
}

TEST_CASE("invalid figures are an error") {
  Shown shown;
  for (const bool is_whole : {true, false}) {
    const Status status = shown.show({"[{}", is_whole});
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Code::kIo);
  }
}

}  // namespace penstock
