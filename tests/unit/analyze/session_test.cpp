// Threads act as ranks, over real sockets.
#include "tools/analyze/session.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "common/clock.h"
#include "tests/unit/catch.h"

using namespace penstock;
using Catch::Matchers::ContainsSubstring;

namespace {

CommandWatch nobody() {
  return {[] { return std::vector<int>(); }, [] { return Status(Done{}); }};
}

// One end of a connection; lines in and out.
class Line {
 public:
  explicit Line(const AnalysisAddress& address)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(address.port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)::connect(fd_.get(), reinterpret_cast<sockaddr*>(&where),
                    sizeof where);
  }
  bool is_open() const {
    char byte;
    return ::recv(fd_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
           errno == EAGAIN;
  }
  void say(const std::string& text) {
    (void)::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  // nullopt: the other end has closed.
  std::optional<AnalysisOrder> next() {
    for (;;) {
      const size_t end = received_.find('\n');
      if (end != std::string::npos) {
        auto order = parse_order(received_.substr(0, end));
        received_.erase(0, end + 1);
        if (order) return *order;
        return std::nullopt;
      }
      char bytes[4096];
      const ssize_t got = ::recv(fd_.get(), bytes, sizeof bytes, 0);
      if (got <= 0) return std::nullopt;
      received_.append(bytes, size_t(got));
    }
  }

 private:
  UniqueFd fd_;
  std::string received_;
};

AnalysisHello hello(const AnalysisAddress& address, uint32_t rank,
                    uint32_t ranks) {
  AnalysisHello it;
  it.secret = address.secret;
  it.rank = rank;
  it.ranks = ranks;
  it.node = "n" + std::to_string(rank);
  it.source = "test";
  return it;
}

// Follows orders: batches of 10 samples, each (1 + rank) ms.
void obey(const AnalysisAddress& address, uint32_t rank, uint32_t ranks) {
  Line line(address);
  line.say(to_line(AnalysisAnswer(hello(address, rank, ranks))));
  uint64_t now_ns = 0;
  while (auto order = line.next()) {
    if (std::holds_alternative<AnalysisEnd>(*order)) return;
    if (const auto* cell = std::get_if<AnalysisCell>(&*order)) {
      line.say(to_line(AnalysisAnswer(AnalysisReady{cell->cell, "", "", ""})));
      for (int message = 0; message < 3; ++message) {
        AnalysisBatches batches;
        batches.cell = cell->cell;
        for (int i = 0; i < 20; ++i) {
          batches.end_ns.push_back(now_ns += 1'000'000 * (1 + rank));
          batches.samples.push_back(10);
          batches.wait_ns.push_back(0);
        }
        line.say(to_line(AnalysisAnswer(batches)));
      }
    } else {
      line.say(to_line(AnalysisAnswer(AnalysisHeld{5})));
    }
  }
}

}  // namespace

TEST_CASE("ranks connect, are measured and are released") {
  auto session = Session::listen(true, nobody());
  REQUIRE(session);
  const AnalysisAddress address = (*session)->address();
  std::thread first(obey, address, 0, 2), second(obey, address, 1, 2);
  REQUIRE((*session)->wait_for_ranks(10));
  REQUIRE((*session)->hellos().size() == 2);
  CHECK((*session)->hellos()[1].node == "n1");
  for (uint32_t number : {1u, 2u}) {
    AnalysisCell cell;
    cell.cell = number;
    auto visit = (*session)->run(cell, 0.01, 10);
    REQUIRE(visit);
    REQUIRE(visit->ranks.size() == 2);
    CHECK(visit->ranks.at(0).samples_per_s() == Approx(10'000));
    CHECK(visit->ranks.at(1).samples_per_s() == Approx(5'000));
  }
  (*session)->end();
  first.join();
  second.join();
}

TEST_CASE("a connection without the secret is refused") {
  auto session = Session::listen(true, nobody());
  REQUIRE(session);
  AnalysisAddress wrong = (*session)->address();
  wrong.secret[0] = wrong.secret[0] == 'a' ? 'b' : 'a';
  std::atomic<int> closed{0};
  const auto stranger = [&](const std::string& text) {
    Line line(wrong);
    line.say(text);
    if (!line.next()) ++closed;
  };
  std::thread guesses(stranger, to_line(AnalysisAnswer(hello(wrong, 0, 1))));
  std::thread scans(stranger, "GET / HTTP/1.0\n\n");
  std::thread floods(stranger, std::string(2 * kMaxAnalysisLineBytes, 'x'));
  std::thread rank([&] {
    while (closed < 3) std::this_thread::yield();
    Line line((*session)->address());
    line.say(to_line(AnalysisAnswer(hello((*session)->address(), 0, 1))));
    while (line.next()) {
    }
  });
  CHECK((*session)->wait_for_ranks(20));
  CHECK(closed == 3);
  for (std::thread* it : {&guesses, &scans, &floods}) it->join();
  session->reset();
  rank.join();
}

// For example for evaluation: it must not be told to end before the trainer.
TEST_CASE("a second process of a rank stays connected and may leave") {
  auto session = Session::listen(true, nobody());
  REQUIRE(session);
  const AnalysisAddress address = (*session)->address();
  const std::string greeting = to_line(AnalysisAnswer(hello(address, 0, 2)));
  Line rank(address);
  rank.say(greeting);
  auto second = std::make_unique<Line>(address);
  second->say(greeting);
  Line stranger(address);
  // Longer than the time limit of silent connections.
  CHECK_FALSE((*session)->wait_for_ranks(5.5));
  CHECK_FALSE(stranger.is_open());
  CHECK(second->is_open());
  CHECK(rank.is_open());
  second.reset();
  CHECK_FALSE((*session)->wait_for_ranks(0.1));
  CHECK(rank.is_open());
}

TEST_CASE("an error after the wait counts the missing ranks") {
  auto session = Session::listen(true, nobody());
  REQUIRE(session);
  Status none = (*session)->wait_for_ranks(0.2);
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().message, ContainsSubstring("penstock.watch"));
  Line line((*session)->address());
  line.say(to_line(AnalysisAnswer(hello((*session)->address(), 0, 2))));
  Status one = (*session)->wait_for_ranks(1);
  REQUIRE_FALSE(one);
  CHECK_THAT(one.error().message, ContainsSubstring("1 of 2 ranks"));
}

TEST_CASE("too many ranks are refused at once") {
  auto session = Session::listen(true, nobody());
  REQUIRE(session);
  Line line((*session)->address());
  line.say(to_line(AnalysisAnswer(hello((*session)->address(), 0, 5000))));
  const Status waited = (*session)->wait_for_ranks(30);
  REQUIRE_FALSE(waited);
  CHECK(waited.error().code == Code::kInvalidArgument);
  CHECK_THAT(waited.error().message, ContainsSubstring("5000 ranks"));
}

TEST_CASE("a rank that leaves or violates the protocol ends the measurement") {
  auto session = Session::listen(true, nobody());
  REQUIRE(session);
  auto line = std::make_unique<Line>((*session)->address());
  line->say(to_line(AnalysisAnswer(hello((*session)->address(), 0, 1))));
  REQUIRE((*session)->wait_for_ranks(10));
  AnalysisCell cell;
  cell.cell = 1;
  SECTION("the rank leaves") {
    line.reset();
    auto visit = (*session)->run(cell, 0.1, 10);
    REQUIRE_FALSE(visit);
    CHECK_THAT(visit.error().message, ContainsSubstring("rank 0 ended"));
  }
  SECTION("the rank sends invalid lines") {
    line->say("nonsense\n");
    auto visit = (*session)->run(cell, 0.1, 10);
    REQUIRE_FALSE(visit);
    CHECK_THAT(visit.error().message, ContainsSubstring("one release"));
  }
  SECTION("the rank sends nothing") {
    auto visit = (*session)->run(cell, 0.1, 0.5);
    REQUIRE_FALSE(visit);
    CHECK_THAT(visit.error().message, ContainsSubstring("no two batches"));
    CHECK(visit.error().code == Code::kLimit);
  }
}

TEST_CASE("the end of the command ends a wait for ranks") {
  CommandWatch ended = nobody();
  ended.look = [] { return Status(Error{Code::kNotFound, 0, "it ended"}); };
  auto session = Session::listen(true, ended);
  REQUIRE(session);
  Status waited = (*session)->wait_for_ranks(60);
  REQUIRE_FALSE(waited);
  CHECK(waited.error().message == "it ended");
}

// Rank 0 holds at its fifth step; rank 1 waits for rank 0 inside its sixth
// step, and receives no message.
TEST_CASE("ranks that wait for each other are brought to the same step") {
  auto session = Session::listen(true, nobody());
  REQUIRE(session);
  const AnalysisAddress address = (*session)->address();
  std::atomic<uint64_t> steps[2] = {5, 6};
  std::atomic<int> ended_while_held{0};
  const auto rank = [&](uint32_t number) {
    Line line(address);
    line.say(to_line(AnalysisAnswer(hello(address, number, 2))));
    uint64_t now_ns = 0;
    bool holds = false;
    while (auto order = line.next()) {
      if (std::holds_alternative<AnalysisEnd>(*order)) {
        if (holds) ++ended_while_held;
        return;
      }
      holds = !std::holds_alternative<AnalysisCell>(*order);
      if (const auto* cell = std::get_if<AnalysisCell>(&*order)) {
        line.say(
            to_line(AnalysisAnswer(AnalysisReady{cell->cell, "", "", ""})));
        for (int i = 0; i < 20; ++i) {
          AnalysisBatches batches;
          batches.cell = cell->cell;
          batches.end_ns = {now_ns += 1'000'000};
          batches.samples = {10};
          batches.wait_ns = {0};
          line.say(to_line(AnalysisAnswer(batches)));
        }
        continue;
      }
      if (std::holds_alternative<AnalysisAdvance>(*order)) ++steps[number];
      // A step ends when the other rank has reached it.
      while (steps[1 - number] < steps[number]) std::this_thread::yield();
      line.say(to_line(AnalysisAnswer(AnalysisHeld{steps[number]})));
    }
  };
  std::thread first(rank, 0), second(rank, 1);
  REQUIRE((*session)->wait_for_ranks(10));
  AnalysisCell cell;
  for (uint32_t number : {1u, 2u}) {
    cell.cell = number;
    auto visit = (*session)->run(cell, 0.001, 20);
    REQUIRE(visit);
  }
  CHECK(steps[0] == steps[1]);
  ++steps[1];
  (*session)->end();
  first.join();
  second.join();
  // A rank that ended first would fail the other in its step.
  CHECK(ended_while_held == 2);
  CHECK(steps[0] == steps[1]);
}
