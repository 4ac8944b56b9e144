#include "wire/analysis_messages.h"

#include "tests/unit/catch.h"

using namespace penstock;
using Catch::Matchers::ContainsSubstring;

namespace {

// The message's line without the newline.
template <class Message>
std::string line_of(const Message& message) {
  std::string line = to_line(message);
  REQUIRE(line.back() == '\n');
  line.pop_back();
  REQUIRE(line.find('\n') == std::string::npos);
  return line;
}

std::string replaced(std::string line, const std::string& from,
                     const std::string& to) {
  const size_t at = line.find(from);
  REQUIRE(at != std::string::npos);
  return line.replace(at, from.size(), to);
}

AnalysisHello hello() {
  AnalysisHello it;
  it.secret = std::string(kAnalysisSecretDigits, 'a');
  it.rank = 1;
  it.ranks = 2;
  it.node = "n1";
  it.source = "penstock-train";
  it.batch_samples = 32;
  it.cold = "fadvise";
  return it;
}

}  // namespace

TEST_CASE("orders read back unchanged") {
  AnalysisCell cell;
  cell.cell = 7;
  cell.data = AnalysisFeed::kMemory;
  cell.train = false;
  cell.cores = 0.75;
  cell.subset_samples = 2048;
  auto order = parse_order(line_of(AnalysisOrder(cell)));
  REQUIRE(order);
  CHECK(std::get<AnalysisCell>(*order) == cell);
  order = parse_order(line_of(AnalysisOrder(AnalysisHold{})));
  CHECK(std::holds_alternative<AnalysisHold>(*order));
  order = parse_order(line_of(AnalysisOrder(AnalysisAdvance{})));
  CHECK(std::holds_alternative<AnalysisAdvance>(*order));
  order = parse_order(line_of(AnalysisOrder(AnalysisEnd{})));
  CHECK(std::holds_alternative<AnalysisEnd>(*order));
}

TEST_CASE("answers read back unchanged") {
  auto answer = parse_answer(line_of(AnalysisAnswer(hello())));
  REQUIRE(answer);
  const auto& said = std::get<AnalysisHello>(*answer);
  CHECK(said.rank == 1);
  CHECK(said.batch_samples == 32);
  CHECK_FALSE(said.dataset_samples.has_value());
  CHECK(said.cold == "fadvise");

  answer = parse_answer(line_of(AnalysisAnswer(AnalysisHeld{12})));
  CHECK(std::get<AnalysisHeld>(*answer).steps == 12);

  answer = parse_answer(
      line_of(AnalysisAnswer(AnalysisReady{7, "quota", "", "no pool"})));
  CHECK(std::get<AnalysisReady>(*answer).cores_by == "quota");
  CHECK(std::get<AnalysisReady>(*answer).why == "no pool");

  AnalysisBatches batches;
  batches.cell = 7;
  batches.end_ns = {10, 20};
  batches.samples = {4, 4};
  batches.wait_ns = {0, 3};
  batches.cpu_s = 1.5;
  answer = parse_answer(line_of(AnalysisAnswer(batches)));
  CHECK(std::get<AnalysisBatches>(*answer).end_ns == batches.end_ns);
  CHECK(std::get<AnalysisBatches>(*answer).cpu_s == 1.5);
}

TEST_CASE("an invalid order is refused with its key") {
  const std::string cell = line_of(AnalysisOrder(AnalysisCell{}));
  const auto why = [](const std::string& line) {
    auto order = parse_order(line);
    REQUIRE_FALSE(order);
    CHECK(order.error().code == Code::kInvalidArgument);
    return order.error().message;
  };
  CHECK_THAT(why("x"), ContainsSubstring("not an object"));
  CHECK_THAT(why("[]"), ContainsSubstring("not an object"));
  CHECK_THAT(why("{}"), ContainsSubstring("cell: missing"));
  CHECK_THAT(
      why(replaced(cell, "\"replay\"", "\"tape\"")),
      ContainsSubstring("data: not valid; allowed: replay, memory or cold"));
  CHECK_THAT(why(replaced(cell, "\"cores\":null", "\"cores\":0.01")),
             ContainsSubstring("cores"));
  CHECK_THAT(
      why(replaced(cell, "\"subset_samples\":1", "\"subset_samples\":0")),
      ContainsSubstring("subset_samples"));
  CHECK(parse_order(std::string(kMaxAnalysisLineBytes + 1, ' ')).error().code ==
        Code::kLimit);
}

TEST_CASE("an invalid answer is refused with its key") {
  const std::string line = line_of(AnalysisAnswer(hello()));
  const auto why = [](const std::string& text) {
    auto answer = parse_answer(text);
    REQUIRE_FALSE(answer);
    return answer.error().message;
  };
  CHECK_THAT(why(replaced(line, "\"rank\":1", "\"rank\":2")),
             ContainsSubstring("rank: not valid; allowed: less than ranks"));
  CHECK_THAT(why(replaced(line, "\"cpus\":1", "\"cpus\":0")),
             ContainsSubstring("cpus"));
  CHECK_THAT(why(replaced(line, "\"can\":{", "\"can\":3,\"x\":{")),
             ContainsSubstring("can"));
  CHECK_THAT(why("{\"cell\":1,\"end_ns\":[2,1],\"samples\":[1,1],"
                 "\"wait_ns\":[0,0],\"cpu_s\":0,\"read_bytes\":0,"
                 "\"consumed_bytes\":0}"),
             ContainsSubstring("end_ns"));
  CHECK_THAT(why("{\"cell\":1,\"end_ns\":[1],\"samples\":[],"
                 "\"wait_ns\":[0],\"cpu_s\":0,\"read_bytes\":0,"
                 "\"consumed_bytes\":0}"),
             ContainsSubstring("samples"));
}

TEST_CASE("control characters in a node's name are replaced") {
  AnalysisHello it = hello();
  it.node = "n\x1b[2J";
  auto answer = parse_answer(line_of(AnalysisAnswer(it)));
  REQUIRE(answer);
  CHECK(std::get<AnalysisHello>(*answer).node == "n?[2J");
}

TEST_CASE("an address reads back, and invalid ones are refused") {
  const std::string secret(kAnalysisSecretDigits, '7');
  auto address = parse_analysis_address("::1:4711:" + secret);
  REQUIRE(address);
  CHECK(address->host == "::1");
  CHECK(address->port == 4711);
  CHECK(to_text(*address) == "::1:4711:" + secret);
  for (const char* text : {"", "host", "host:1", "host:1:short", ":1:", "::",
                           "h:0:77777777777777777777777777777777"}) {
    CHECK_FALSE(parse_analysis_address(text));
  }
}
