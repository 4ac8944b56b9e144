#include "exchange/plan/costs_file.h"

#include "tests/unit/catch.h"

namespace penstock::exchange {
namespace {

TEST_CASE("costs are read, and other keys are ignored") {
  const auto costs = parse_costs(
      R"({"schema_version": 1, "message_s": 5e-5, "byte_s": 8e-10,
          "add_s": 0, "select_s": 3e-10, "record_s": 2e-9, "ranks": 4,
          "machine": {"cpu": "any"}})");
  REQUIRE(costs);
  CHECK(costs->message_s == 5e-5);
  CHECK(costs->byte_s == 8e-10);
  CHECK(costs->add_s == 0);
  CHECK(costs->select_s == 3e-10);
  CHECK(costs->record_s == 2e-9);
}

TEST_CASE("invalid costs are refused with their key") {
  const struct {
    const char* text;
    const char* message;
  } rows[] = {
      {"", "is not a JSON object; allowed: what penstock bench exchange"},
      {"[1]", "is not a JSON object"},
      {"{\"message_s\": 1e-5", "is not a JSON object"},
      {R"({"message_s": 0, "byte_s": 1e-9, "add_s": 0, "select_s": 0})",
       "record_s: missing; allowed: what penstock bench exchange"},
      {R"({"message_s": "fast"})",
       "message_s: not valid; allowed: seconds from 0 to 1"},
      {R"({"message_s": -1e-5})", "message_s: not valid"},
      {R"({"message_s": 0, "byte_s": 1e400})", "is not a JSON object"},
      {R"({"message_s": 0, "byte_s": null})", "byte_s: not valid"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.text);
    const auto refused = parse_costs(row.text);
    REQUIRE_FALSE(refused);
    INFO(refused.error().message);
    CHECK(refused.error().code == Code::kInvalidArgument);
    CHECK(refused.error().message.find(row.message) != std::string::npos);
  }
}

}  // namespace
}  // namespace penstock::exchange
