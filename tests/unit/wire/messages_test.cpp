#include "wire/messages.h"

#include "tests/unit/catch.h"
#include "tests/unit/wire/agents.h"

using namespace penstock;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

RunTotals full_run() {
  return {.wall_s = 100,
          .parts_s = {.compute = 50,
                      .fetch_stall = 10.5,
                      .prep_stall = 20,
                      .exchange_stall = 5},
          .waited_s = 33,
          .active_s = 95,
          .home_core_s = 200,
          .away_core_s = 40,
          .lent_core_s = 3,
          .floor_samples_per_s = 400};
}

JobPart full_part() {
  JobPart part = reading(part_of(7, 812.5, 3.25), "scratch", 110e3);
  part.started_unix_s = 1780000000.5;
  part.ranks = 4;
  part.shares = 2;
  part.weight = 1.5;
  part.max_bytes_per_s = 2e9;
  part.on_entitlement = part.pool_pressed = part.is_measured = true;
  part.model = "res50";
  part.batch = 256;
  part.trainer_reserve_cores = 0.75;
  part.mean_rate = 640.5;
  part.grant_changes = 12;
  part.run = full_run();
  return part;
}

template <class Message>
void travels(const Message& message) {
  const TypedBody sent = body_of(AgentMessage(message));
  // Converts the message to text and back, as on the network.
  const auto read =
      read_agent_message(sent.type, json::parse(sent.body.dump()));
  REQUIRE(read.ok());
  CHECK(std::get<Message>(*read) == message);
}

template <class Message>
void comes_back(const Message& message) {
  const TypedBody sent = body_of(ControllerMessage(message));
  const auto read =
      read_controller_message(sent.type, json::parse(sent.body.dump()));
  REQUIRE(read.ok());
  CHECK(std::get<Message>(*read) == message);
}

std::string error_of(const TypedBody& sent) {
  const auto read = read_agent_message(sent.type, sent.body);
  return read ? "" : read.error().message;
}

}  // namespace

TEST_CASE("every message arrives unchanged") {
  travels(NodeHello{8, 6.5, 33, 1.25, {full_part(), part_of(8, 1, 0)}});
  travels(JobChanged{6.5, full_part()});
  travels(JobEnded{6.5, 7, {}});
  travels(JobEnded{6.5, 7, full_part()});
  travels(Heartbeat{6.5, 33, 4, 0.5});
  travels(Refused{17, 3, 33});
  travels(ReportPart{7, 1000, 1780000000.25, 1780000001, "00ff7e"});
  travels(ReportPart{7, 1000, 0, 0, std::string(kMaxPackedText, 'a')});
  comes_back(NodeGrant{33,
                       4,
                       1780000000.25,
                       99,
                       {{7, 100.5, 220.25, {}},
                        {8, 0, 0, EarlierFigures{812.5, 4e-3, 1e-3, 1e5, 0.3}}},
                       {{"scratch", 1e8, 2, 16, 8e8}}});
  comes_back(Beat{33});
  comes_back(Resync{});
  comes_back(ReportKept{7, 1780000000.25, 1780000001});
}

TEST_CASE("a report part is read back from its text") {
  const ReportPart part{7, 1000, 1780000000.25, 0, "00ff7e"};
  CHECK(*read_report_part(to_text(part)) == part);
  for (const char* text : {"", "7", "{}", "{\"id\": 7", "[]"}) {
    CAPTURE(text);
    CHECK_FALSE(read_report_part(text));
  }
}

TEST_CASE("a report part is hexadecimal text of bounded size") {
  for (const std::string& packed :
       {std::string(), std::string("0"), std::string("0g"), std::string("0F"),
        std::string(kMaxPackedText + 2, '0')}) {
    CHECK_THAT(error_of(body_of(AgentMessage(ReportPart{7, 0, 1, 1, packed}))),
               ContainsSubstring("packed"));
  }
}

TEST_CASE("fields of a later release are ignored") {
  TypedBody sent = body_of(AgentMessage(JobChanged{1, full_part()}));
  sent.body["colour"] = "blue";
  sent.body["part"]["colour"] = json::array({1, 2});
  const auto read = read_agent_message(sent.type, sent.body);
  REQUIRE(read.ok());
  CHECK(std::get<JobChanged>(*read).part == full_part());
}

TEST_CASE("fields that only the history uses are optional") {
  TypedBody sent = body_of(AgentMessage(JobChanged{1, full_part()}));
  for (const char* field : {"model", "batch", "trainer_reserve_cores",
                            "mean_rate", "grant_changes", "run"}) {
    sent.body["part"].erase(field);
  }
  const auto read = read_agent_message(sent.type, sent.body);
  REQUIRE(read.ok());
  const JobPart& part = std::get<JobChanged>(*read).part;
  CHECK(part.model == "");
  CHECK(part.mean_rate == 0);
  CHECK(part.run == RunTotals());
  CHECK(part.ceiling == full_part().ceiling);
}

TEST_CASE("invalid optional fields are refused") {
  const std::vector<std::pair<const char*, json>> rows = {
      {"model", 7},          {"model", std::string(65, 'x')},
      {"batch", -1},         {"batch", 4294967296u},
      {"mean_rate", -1},     {"trainer_reserve_cores", 1e9},
      {"grant_changes", 0.5}};
  for (const auto& [field, value] : rows) {
    TypedBody sent = body_of(AgentMessage(JobChanged{1, full_part()}));
    sent.body["part"][field] = value;
    CHECK_THAT(error_of(sent), ContainsSubstring(field));
  }
  TypedBody other = body_of(AgentMessage(JobEnded{1, 8, full_part()}));
  CHECK_THAT(error_of(other), ContainsSubstring("last is of job 7, not of 8"));
  const EarlierFigures good{800, 4e-3, 1e-3, 1e5, 0.3};
  const std::vector<std::pair<const char*, json>> figures = {
      {"ceiling", 0},
      {"loader_cpu_s_per_sample", -1},
      {"trainer_cpu_s_per_sample", 1e7},
      {"storage_bytes_per_sample", "1"},
      {"relative_error", 1}};
  for (const auto& [field, value] : figures) {
    TypedBody sent = body_of(
        ControllerMessage(NodeGrant{1, 1, 0, 0, {{7, 0, 0, good}}, {}}));
    sent.body["jobs"][0]["earlier"][field] = value;
    const auto read = read_controller_message(sent.type, sent.body);
    REQUIRE_FALSE(read.ok());
    CHECK_THAT(read.error().message, ContainsSubstring(field));
  }
}

TEST_CASE("unknown figures of a run are not sent, zeros are") {
  JobPart part = full_part();
  part.run = {.wall_s = 100, .parts_s = {.fetch_stall = 0}};
  travels(JobChanged{1, part});
  const TypedBody sent = body_of(AgentMessage(JobChanged{1, part}));
  CHECK(sent.body["part"]["run"] ==
        json({{"wall_s", 100.0}, {"fetch_stall_s", 0.0}}));
  part.run = {};
  travels(JobChanged{1, part});
  CHECK_FALSE(
      body_of(AgentMessage(JobChanged{1, part})).body["part"].contains("run"));
}

TEST_CASE("an invalid figure of a run is refused by name") {
  for (const RunField& field : kRunFields) {
    for (const json& value :
         {json(-1), json(field.most * 2), json("1"), json(nullptr)}) {
      TypedBody sent = body_of(AgentMessage(JobEnded{1, 7, full_part()}));
      sent.body["last"]["run"][field.name] = value;
      CAPTURE(field.name, value.dump());
      CHECK_THAT(error_of(sent), ContainsSubstring(field.name));
    }
  }
  TypedBody list = body_of(AgentMessage(JobChanged{1, full_part()}));
  list.body["part"]["run"] = json::array();
  CHECK_THAT(error_of(list), ContainsSubstring("run"));
  // More than 100%.
  for (const double wall_s : {85.4, 0.0}) {
    TypedBody more = body_of(AgentMessage(JobChanged{1, full_part()}));
    more.body["part"]["run"]["wall_s"] = wall_s;
    CHECK_THAT(error_of(more), ContainsSubstring("wall_s"));
  }
  TypedBody without = body_of(AgentMessage(JobChanged{1, full_part()}));
  without.body["part"]["run"].erase("wall_s");
  CHECK_THAT(error_of(without), ContainsSubstring("wall_s"));
}

TEST_CASE(
    "the error names a field that is missing, of another type or out of "
    "range") {
  struct Row {
    const char* field;
    json value;
  };
  const std::vector<Row> rows = {{"id", 0},
                                 {"id", -1},
                                 {"id", "7"},
                                 {"id", 4294967296u},
                                 {"ranks", 0},
                                 {"ranks", -2},
                                 {"ranks", 1e7},
                                 {"shares", 0},
                                 {"weight", 0},
                                 {"ceiling", 0},
                                 {"ceiling", 1e300},
                                 {"ceiling", nullptr},
                                 {"loader_cpu_s_per_sample", 0},
                                 {"storage_bytes_per_sample", -1},
                                 {"entitled_cores", -0.5},
                                 {"entitled_cores", 1e9},
                                 {"max_cores", -1},
                                 {"max_bytes_per_s", -1},
                                 {"pool", 7},
                                 {"name", std::string(65, 'x')},
                                 {"in_cores", 1},
                                 {"on_entitlement", "no"},
                                 {"pool_pressed", json::array()},
                                 {"started_unix_s", -1}};
  for (const Row& row : rows) {
    TypedBody sent = body_of(AgentMessage(JobChanged{1, full_part()}));
    sent.body["part"][row.field] = row.value;
    CAPTURE(row.field, row.value.dump());
    CHECK_THAT(error_of(sent), ContainsSubstring(row.field));
    sent.body["part"].erase(row.field);
    CHECK_THAT(error_of(sent), ContainsSubstring(row.field));
  }
}

TEST_CASE("messages that are not objects or of unknown type are refused") {
  for (const char* type :
       {"hello", "job", "job_ended", "heartbeat", "refused"}) {
    CHECK_FALSE(read_agent_message(type, json::array()).ok());
    CHECK_FALSE(read_agent_message(type, json::object()).ok());
  }
  CHECK_FALSE(read_controller_message("grant", json::object()).ok());
  CHECK_FALSE(read_controller_message("beat", json("x")).ok());
  const auto unknown = read_agent_message("grant", json::object());
  REQUIRE_FALSE(unknown.ok());
  CHECK_THAT(unknown.error().message, ContainsSubstring("\"grant\""));
}

TEST_CASE("duplicate jobs and too many jobs are refused") {
  const JobPart part = full_part();
  CHECK_THAT(error_of(body_of(AgentMessage(hello_of(8, {part, part})))),
             ContainsSubstring("job 7 twice"));
  TypedBody many = body_of(AgentMessage(hello_of(8, {})));
  many.body["parts"] = json(kMaxParts + 1, json::object());
  const auto read = read_agent_message(many.type, many.body);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().code == Code::kLimit);
}
