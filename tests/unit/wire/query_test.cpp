#include "wire/query.h"

#include "tests/unit/catch.h"

namespace penstock {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

ControllerQuery full_query() {
  ControllerQuery query;
  query.what = ControllerQuery::What::kHistory;
  query.job_id = 4711;
  query.uid = 1000;
  query.node = "n1";
  query.kind = "train_#:";
  query.since_unix_s = 1780000000.5;
  query.after = "42";
  query.limit = 7;
  return query;
}

TEST_CASE("a query reads back unchanged") {
  Result<ControllerQuery> back = read_query(query_body(full_query()));
  REQUIRE(back);
  CHECK(*back == full_query());
  for (auto what :
       {ControllerQuery::What::kJobs, ControllerQuery::What::kNodes,
        ControllerQuery::What::kHistory, ControllerQuery::What::kTotals}) {
    ControllerQuery bare;
    bare.what = what;
    back = read_query(query_body(bare));
    REQUIRE(back);
    CHECK(*back == bare);
  }
}

TEST_CASE("the query's body has the fields of docs/protocol.md") {
  CHECK(query_body(full_query()) == json{{"what", "history"},
                                         {"job_id", 4711},
                                         {"uid", 1000},
                                         {"node", "n1"},
                                         {"kind", "train_#:"},
                                         {"since_unix_s", 1780000000.5},
                                         {"after", "42"},
                                         {"limit", 7}});
  CHECK(read_query(json{{"what", "jobs"}, {"later", "field"}}));
}

TEST_CASE("fields out of range are refused by name") {
  struct Row {
    const char* key;
    json value;
  };
  for (const Row& row :
       {Row{"what", "everything"}, Row{"what", 1}, Row{"what", nullptr},
        Row{"job_id", -1}, Row{"job_id", 4294967296}, Row{"job_id", "1"},
        Row{"uid", 1.5}, Row{"node", std::string(65, 'a')}, Row{"node", 1},
        Row{"kind", std::string(146, 'a')}, Row{"kind", 1},
        Row{"since_unix_s", -1}, Row{"since_unix_s", "now"},
        Row{"after", std::string(129, 'a')}, Row{"limit", 0},
        Row{"limit", 1001}, Row{"limit", 1e300}, Row{"limit", UINT64_MAX}}) {
    json body = query_body(full_query());
    body[row.key] = row.value;
    INFO(body.dump());
    Result<ControllerQuery> read = read_query(body);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == Code::kInvalidArgument);
    CHECK_THAT(read.error().message,
               ContainsSubstring(row.key) && ContainsSubstring("allowed"));
  }
  CHECK_FALSE(read_query(json::array()));
  CHECK_FALSE(read_query(json()));
}

struct Exchange {
  Sender asker{"login", 0xabc};
  Sender controller{"ctl", 0xdef};
  Envelope query = asker.next(kQueryType, query_body(full_query()), 100);

  Envelope answer(const Result<json>& document) {
    return controller.next(kAnswerType, answer_body(query, document), 100);
  }
};

TEST_CASE("the document of an answer is returned unchanged") {
  Exchange exchange;
  const Envelope answer = exchange.answer(json{{"kind", "job_history"}});
  Result<json> document = read_answer(answer, exchange.query);
  REQUIRE(document);
  CHECK(*document == json{{"kind", "job_history"}});
}

TEST_CASE("a controller's error keeps its code and reason") {
  Exchange exchange;
  for (Code code :
       {Code::kInvalidArgument, Code::kNotFound, Code::kPermissionDenied,
        Code::kIo, Code::kInfeasible, Code::kUnavailable, Code::kLimit}) {
    const Envelope answer =
        exchange.answer(Error{code, 0, "because\nof \x1b[1m"});
    Result<json> read = read_answer(answer, exchange.query);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == code);
    CHECK(read.error().message == "because?of ?[1m");
  }
}

TEST_CASE("an answer to another query or without content is refused") {
  Exchange exchange;
  const Envelope good = exchange.answer(json::object());
  const auto refused = [&](auto spoil) {
    Envelope answer = good;
    spoil(answer);
    return !read_answer(answer, exchange.query).ok();
  };
  CHECK_FALSE(refused([](Envelope&) {}));
  CHECK(refused([](Envelope& it) { it.type = "grant"; }));
  CHECK(refused([](Envelope& it) { it.body["to_session"] = "1"; }));
  CHECK(refused([](Envelope& it) { it.body["to_session"] = 1; }));
  CHECK(refused([](Envelope& it) { it.body["to_sequence"] = 2; }));
  CHECK(refused([](Envelope& it) { it.body["to_sequence"] = 1e60; }));
  CHECK(refused([](Envelope& it) { it.body.erase("to_sequence"); }));
  CHECK(refused([](Envelope& it) { it.body["document"] = "text"; }));
  CHECK(refused([](Envelope& it) { it.body.erase("document"); }));
  CHECK(refused([](Envelope& it) {
    it.body.erase("document");
    it.body["error"] = "fine";
  }));
  // An earlier answer to the same run of the command.
  Envelope next = exchange.asker.next(kQueryType, query_body({}), 101);
  CHECK_FALSE(read_answer(good, next));
}

}  // namespace
}  // namespace penstock
