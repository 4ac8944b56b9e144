#include "tools/penstock/controller_client.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

#include "fake_controller.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kPatience_ms = 10000;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Result<json> ask(const std::vector<ControllerAddress>& controllers,
                 const ControllerQuery& query = {},
                 int timeout_ms = kPatience_ms, const Trust& trust = {}) {
  PlainCredentials credentials(::geteuid());
  return ask_controllers({controllers, trust}, query, credentials, timeout_ms);
}

TEST_CASE("a query is sent unchanged, signed by the user for root") {
  ControllerQuery query;
  query.what = ControllerQuery::What::kHistory;
  query.job_id = 7;
  Asked seen;
  FakeController controller([&](const Asked& asked) {
    seen = asked;
    return sealed_answer(asked, json{{"kind", "job_history"}});
  });
  Result<json> document = ask({controller.address()}, query);
  REQUIRE(document);
  CHECK((*document)["kind"] == "job_history");
  CHECK(seen.query == query);
  CHECK(seen.opened.uid == ::geteuid());
  CHECK(seen.envelope.type == "query");
  CHECK(seen.envelope.sequence == 1);
  CHECK_FALSE(seen.envelope.node.empty());
}

TEST_CASE("a controller may run as root or as its own user") {
  const Trust trust{"ControllerUser=64031", 64031};
  for (const uid_t user : {uid_t{0}, uid_t{64031}}) {
    FakeController controller(
        [&](const Asked& query) {
          return sealed_answer(query, json{{"kind", "cluster_jobs"}}, user);
        },
        user);
    CHECK(ask({controller.address()}, {}, kPatience_ms, trust));
  }
}

TEST_CASE("a controller of another user is refused by its number") {
  FakeController controller([](const Asked&) { return std::nullopt; },
                            /*user=*/64032);
  const Result<json> refused =
      ask({controller.address()}, {}, kPatience_ms,
          Trust{"ControllerUser=penstock", std::nullopt});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kPermissionDenied);
  CHECK_THAT(
      refused.error().message,
      ContainsSubstring("an answer of user 64032") &&
          ContainsSubstring("ControllerUser=penstock (no such account here)"));
}

TEST_CASE("a controller that opens no query at all is unavailable") {
  FakeController controller([](const Asked& asked) {
    return std::optional<std::string>(sealed_resync(asked.opened.uid));
  });
  const Result<json> document = ask({controller.address()});
  REQUIRE_FALSE(document);
  CHECK(document.error().code == Code::kUnavailable);
  CHECK_THAT(document.error().message,
             ContainsSubstring("cannot open queries"));
}

TEST_CASE("an inactive controller is skipped") {
  const Error inactive{Code::kUnavailable, 0, "not the active controller"};
  FakeController backup(
      [&](const Asked& asked) { return sealed_answer(asked, inactive); });
  FakeController active([&](const Asked& asked) {
    return sealed_answer(asked, json{{"kind", "cluster_jobs"}});
  });
  CHECK(ask({backup.address(), active.address()}));
  Result<json> none = ask({backup.address()});
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Code::kUnavailable);
  CHECK_THAT(none.error().message, ContainsSubstring("not the active"));
}

TEST_CASE("after a refusal no other controller is asked") {
  bool asked_second = false;
  FakeController first([](const Asked& asked) {
    return sealed_answer(
        asked, Error{Code::kPermissionDenied, 0, "only root sees that"});
  });
  FakeController second([&](const Asked& asked) {
    asked_second = true;
    return sealed_answer(asked, json::object());
  });
  Result<json> document = ask({first.address(), second.address()});
  REQUIRE_FALSE(document);
  CHECK(document.error().code == Code::kPermissionDenied);
  CHECK(document.error().message == "only root sees that");
  CHECK_FALSE(asked_second);
}

// A port without a listener during the object's life.
struct DeafPort {
  DeafPort() : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* name = reinterpret_cast<sockaddr*>(&at);
    REQUIRE(::bind(fd, name, size) == 0);
    REQUIRE(::getsockname(fd, name, &size) == 0);
    address = {"127.0.0.1", ntohs(at.sin_port)};
  }
  ~DeafPort() { ::close(fd); }

  int fd;
  ControllerAddress address;
};

TEST_CASE("queries to stopped or hanging controllers end at the timeout") {
  DeafPort down;
  FakeController hangs([](const Asked&) { return std::nullopt; });
  const Clock::time_point start = Clock::now();
  Result<json> document =
      ask({down.address, hangs.address()}, {}, /*timeout_ms=*/300);
  REQUIRE_FALSE(document);
  CHECK(document.error().code == Code::kUnavailable);
  CHECK_THAT(
      document.error().message,
      ContainsSubstring(down.address.to_string() + " cannot be reached"));
  CHECK_THAT(
      document.error().message,
      ContainsSubstring(hangs.address().to_string() + " does not answer"));
  CHECK_THAT(document.error().message, ContainsSubstring("systemctl start"));
  CHECK(seconds_since(start) >= 0.29);
  CHECK(seconds_since(start) < 5);
}

TEST_CASE("the error without a controller names the settings") {
  Result<json> document = ask({});
  REQUIRE_FALSE(document);
  CHECK(document.error().code == Code::kInvalidArgument);
  CHECK_THAT(document.error().message, ContainsSubstring("Controller=") &&
                                           ContainsSubstring("--controller"));
}

TEST_CASE("the error for an unknown host names it") {
  Result<json> document =
      ask({{"no-such-host.invalid", 6830}}, {}, /*timeout_ms=*/300);
  REQUIRE_FALSE(document);
  CHECK_THAT(document.error().message,
             ContainsSubstring("no-such-host.invalid:6830"));
}

TEST_CASE("an answer that is not by root or not to this query is refused") {
  struct Row {
    Answer answer;
    Code code;
    const char* says;
  };
  const uid_t stranger = ::geteuid() + 1;
  const Row rows[] = {
      {[&](const Asked& asked) {
         return sealed_answer(asked, json::object(), stranger);
       },
       Code::kPermissionDenied, "only those of root"},
      {[&](const Asked& asked) {
         Asked other = asked;
         other.opened.uid = stranger;
         return sealed_answer(other, json::object());
       },
       Code::kPermissionDenied, "another user"},
      {[](const Asked& asked) {
         Asked other = asked;
         other.envelope.session += 1;
         return sealed_answer(other, json::object());
       },
       Code::kInvalidArgument, "not the answer"},
      {[](const Asked&) { return std::optional<std::string>("garbage"); },
       Code::kInvalidArgument, "not a credential"},
      {[](const Asked& asked) {
         return *PlainCredentials(0).encode("{}", asked.opened.uid, 60);
       },
       Code::kInvalidArgument, "the answer"}};
  for (const Row& row : rows) {
    FakeController controller(row.answer);
    Result<json> document = ask({controller.address()});
    REQUIRE_FALSE(document);
    CHECK(document.error().code == row.code);
    CHECK_THAT(document.error().message, ContainsSubstring(row.says));
  }
}

// Rows 1..count, in pages.
FakeController pages_of(int count, int per_page) {
  return FakeController([=](const Asked& asked) {
    json document = {{"jobs", json::array()}, {"next", nullptr}};
    const int from =
        asked.query.after.empty() ? 0 : std::stoi(asked.query.after);
    const int page = std::min(per_page, asked.query.limit);
    for (int row = from + 1; row <= std::min(count, from + page); ++row) {
      document["jobs"].push_back(row);
    }
    if (from + page < count) document["next"] = std::to_string(from + page);
    return sealed_answer(asked, document);
  });
}

Result<json> ask_all(const FakeController& controller, size_t max_rows) {
  PlainCredentials credentials(::geteuid());
  return ask_for_all({{controller.address()}}, {}, "jobs", max_rows,
                     credentials, kPatience_ms);
}

TEST_CASE("pages are joined up to the requested number of rows") {
  const FakeController controller = pages_of(25, 10);
  Result<json> all = ask_all(controller, 1000);
  REQUIRE(all);
  REQUIRE((*all)["jobs"].size() == 25);
  for (int row = 0; row < 25; ++row) CHECK((*all)["jobs"][row] == row + 1);
  CHECK((*all)["next"].is_null());
  Result<json> some = ask_all(controller, 15);
  REQUIRE(some);
  CHECK((*some)["jobs"].size() == 15);
  CHECK((*some)["next"] == "15");
  CHECK((*ask_all(controller, 1))["jobs"].size() == 1);
}

TEST_CASE("an endless answer, or one without rows, ends the query") {
  FakeController endless([](const Asked& asked) {
    return sealed_answer(asked,
                         json{{"jobs", json::array()}, {"next", "same"}});
  });
  Result<json> all = ask_all(endless, 1000);
  REQUIRE(all);
  CHECK((*all)["jobs"].empty());
  FakeController strange([](const Asked& asked) {
    return sealed_answer(asked, json{{"rows", 1}});
  });
  all = ask_all(strange, 1000);
  REQUIRE_FALSE(all);
  CHECK(all.error().code == Code::kInvalidArgument);
}

// Totals of 25 runs, 10 to a page; `name` gives the controller of each.
Result<int> ask_for_pages(const std::function<std::string()>& name,
                          int wanted = kMaxQueryRows) {
  FakeController controller([&](const Asked& asked) {
    const int from =
        asked.query.after.empty() ? 0 : std::stoi(asked.query.after);
    json document = {{"controller", name()}, {"next", nullptr}};
    if (from + 10 < 25) document["next"] = std::to_string(from + 10);
    return sealed_answer(asked, document);
  });
  PlainCredentials credentials(::geteuid());
  int pages = 0;
  Status asked = ask_pages(
      {{controller.address()}}, {}, credentials,
      [&](const json&) {
        ++pages;
        return wanted;
      },
      kPatience_ms);
  if (!asked) return std::move(asked).error();
  return pages;
}

TEST_CASE("pages are fetched until the consumer stops") {
  CHECK(*ask_for_pages([] { return "ctl1"; }) == 3);
  CHECK(*ask_for_pages([] { return "ctl1"; }, 0) == 1);
}

TEST_CASE("pages of two controllers' histories are not joined") {
  int answers = 0;
  const Result<int> pages =
      ask_for_pages([&] { return ++answers == 1 ? "ctl1:6830" : "ctl2:6830"; });
  REQUIRE_FALSE(pages);
  CHECK(pages.error().code == Code::kUnavailable);
  CHECK_THAT(pages.error().message, ContainsSubstring("ask again"));
}

TEST_CASE("--controller takes precedence over the configured controllers") {
  Config config;
  config.controllers = {{"ctl1", 6830}};
  CHECK(chosen_controllers("", config)->addresses == config.controllers);
  CHECK(chosen_controllers("ctl2:7000", config)->addresses[0].to_string() ==
        "ctl2:7000");
  const auto wrong = chosen_controllers("ctl2:x", config);
  REQUIRE_FALSE(wrong);
  CHECK_THAT(wrong.error().message, ContainsSubstring("--controller ctl2:x"));
}

}  // namespace
}  // namespace penstock
