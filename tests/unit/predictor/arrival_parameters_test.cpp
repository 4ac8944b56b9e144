#include "predictor/arrival_parameters.h"

#include "predictor/exchange.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

ArrivalParameters some() {
  ArrivalParameters out;
  out.roofline.coefficients.assign(roofline_form().coefficients.size(), 0.25);
  out.one_node.coefficients.assign(exchange_form().coefficients.size(), -0.5);
  out.many_nodes.coefficients.assign(exchange_form().coefficients.size(), 1);
  out.roofline.effects = {{"gpu:T4", 0.12345678}, {"family:a,\"b\"", -1.5}};
  out.intervals = {{"given/known", {-0.5, 0.25}}};
  return out;
}

std::string refused(const std::string& text) {
  const auto parameters = parse_parameters(text, "p.csv");
  INFO(text.substr(0, 200));
  REQUIRE_FALSE(parameters);
  CHECK(parameters.error().code == Code::kInvalidArgument);
  return parameters.error().message;
}

TEST_CASE("written parameters read back, rounded to four decimals") {
  const std::string text = write_parameters(some());
  const auto read = parse_parameters(text, "p.csv");
  REQUIRE(read);
  CHECK(read->roofline.coefficients == some().roofline.coefficients);
  CHECK(read->one_node.coefficients == some().one_node.coefficients);
  CHECK(read->many_nodes.coefficients == some().many_nodes.coefficients);
  CHECK(read->roofline.effects.at("gpu:T4") == 0.1235);
  CHECK(read->roofline.effects.at("family:a,\"b\"") == -1.5);
  CHECK(read->intervals.at("given/known").low == -0.5);
  CHECK(read->intervals.at("given/known").high == 0.25);
  CHECK(write_parameters(*read) == text);
}

TEST_CASE("invalid parameter files are refused") {
  const std::string text = write_parameters(some());
  const auto last =
      "p.csv:" +
      std::to_string(std::count(text.begin(), text.end(), '\n') + 1) + ": ";
  CHECK(refused("part,name\n") == "p.csv: column \"value\" is missing");
  CHECK(refused(text + "magic,x,1\n") ==
        last +
            "part \"magic\" must be roofline, one_node, many_nodes or "
            "interval");
  CHECK(refused(text + "roofline,x,1\n") ==
        last + "\"x\" is not a coefficient of this version; calibrate again");
  CHECK(refused(text + "roofline,compute,1\n") ==
        last + "\"compute\" is there twice");
  CHECK(refused(text + "roofline,gpu:T4,1\n") ==
        last + "\"gpu:T4\" is there twice");
  CHECK(refused(text + "roofline,gpu:T5,101\n") ==
        last + "value: \"101\" must be -100 to 100");
  CHECK(refused(text + "roofline,gpu:T5,\n") == last + "value: empty");
  CHECK(refused(text + "interval,x,1\n") ==
        last + "\"x\" must end in /low or /high");
  CHECK(refused(text + "interval,given/known/low,1\n") ==
        last + "\"given/known/low\" is there twice");
  CHECK(refused(text + "interval,x/low,1\n") ==
        "p.csv: interval \"x\" needs a low and a high end, in that order");
  CHECK(refused(text + "interval,x/low,1\ninterval,x/high,0\n") ==
        "p.csv: interval \"x\" needs a low and a high end, in that order");
  CHECK(refused("part,name,value\n") ==
        "p.csv: roofline misses compute; calibrate again");
}

TEST_CASE("the built-in parameters are complete") {
  const auto& built_in = builtin_parameters();
  REQUIRE(built_in);
  CHECK(built_in->roofline.effects.contains("family:resnet"));
  for (const char* costs : {"given", "listed", "guessed"}) {
    for (const char* how : {"known", "new_family", "new_gpu", "new_both"}) {
      INFO(costs << '/' << how);
      CHECK(built_in->intervals.contains(std::string(costs) + "/" + how));
    }
  }
  for (const char* kind :
       {"one_node", "many_nodes", "two_points", "two_points_many"}) {
    INFO(kind);
    CHECK(built_in->intervals.contains(kind));
  }
}

}  // namespace
}  // namespace penstock
