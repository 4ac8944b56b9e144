#include "common/job_number.h"

#include <string>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE("numbers are as squeue prints them") {
  struct Row {
    const char *text, *number;
    std::optional<uint32_t> id, task, component;
  };
  const Row rows[] = {
      {"4711", "4711", 4711, {}, {}},
      {"4711.0", "4711", 4711, {}, {}},
      {"4711.batch", "4711", 4711, {}, {}},
      {"9_1", "9_1", {}, 1, {}},
      {"9_1.extern", "9_1", {}, 1, {}},
      {"20+1", "20+1", {}, {}, 1},
      {"20+0.3", "20+0", {}, {}, 0},
      {"9_1+2", "9_1+2", {}, 1, 2},
      {"4294967295", "4294967295", 4294967295, {}, {}},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const auto number = parse_job_number(row.text);
    REQUIRE(number);
    CHECK(number->text == row.number);
    CHECK(number->id == row.id);
    CHECK(std::to_string(number->first) ==
          number->text.substr(0, number->text.find_first_of("_+")));
    CHECK(number->task == row.task);
    CHECK(number->component == row.component);
  }
}

TEST_CASE("anything else is refused with the forms that are allowed") {
  for (const char* text : {"", "abc", "0", "-1", "4294967296", "9_", "_1",
                           "9_[1-3]", "20+", "4711.", "4711.;x", "4711 ",
                           " 4711", "9_1_2", "4711.0.1", "20+1_2", "0x10"}) {
    INFO(text);
    const auto number = parse_job_number(text);
    REQUIRE_FALSE(number);
    CHECK(number.error().message.find("as squeue prints it") !=
          std::string::npos);
  }
}

}  // namespace
}  // namespace penstock
