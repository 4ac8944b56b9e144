#include "spank_plugin/agent_link.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>

#include "common/clock.h"
#include "common/unique_fd.h"
#include "spank_plugin/messages.h"
#include "tests/unit/catch.h"
#include "tests/unit/spank_plugin/temp_dir.h"

using namespace penstock::spank;  // NOLINT: the unit under test
using penstock::monotonic_ns;
using penstock::set_field;
using penstock::UniqueFd;

namespace {

constexpr uint64_t kMs = 1000000;

// A listening socket without accept() until the test calls it.
class Listener {
 public:
  explicit Listener(int backlog = 8) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path().c_str());
    fd_.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address),
                   sizeof address) == 0);
    REQUIRE(::listen(fd_.get(), backlog) == 0);
  }
  std::string path() const { return dir_.path("s"); }
  UniqueFd accept() const {
    return UniqueFd(::accept(fd_.get(), nullptr, nullptr));
  }
  void close() { fd_.reset(); }

 private:
  TempDir dir_;
  UniqueFd fd_;
};

penstock_task_start task_start() {
  return make_message<penstock_task_start>(PENSTOCK_TASK_START, 7);
}

penstock_reply reply_to(const penstock_task_start& message) {
  return make_message<penstock_reply>(PENSTOCK_REPLY,
                                      message.header.request_id);
}

Outcome ask(const std::string& path, WaitBudget& budget, penstock_reply& reply,
            uid_t owner = ::geteuid()) {
  const penstock_task_start message = task_start();
  return request(path.c_str(), owner, &message, sizeof message, budget, reply);
}

// The outcome of request() for this answer of a server.
template <class Answer>
Outcome outcome_of(const Answer& answer, size_t bytes = sizeof(Answer)) {
  const Listener listener;
  std::thread server([&] {
    const UniqueFd link = listener.accept();
    penstock_task_start got{};
    ::recv(link.get(), &got, sizeof got, 0);
    ::send(link.get(), &answer, bytes, MSG_NOSIGNAL);
  });
  WaitBudget budget{5000 * kMs};
  penstock_reply reply{};
  const Outcome outcome = ask(listener.path(), budget, reply);
  server.join();
  return outcome;
}

}  // namespace

TEST_CASE(
    "agent_link: a reply is accepted, and its time is taken off the budget") {
  const Listener listener;
  penstock_task_start got{};
  std::thread server([&] {
    const UniqueFd link = listener.accept();
    ::recv(link.get(), &got, sizeof got, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    penstock_reply reply = reply_to(got);
    reply.status = EINVAL;
    set_field(reply.text, "why");
    ::send(link.get(), &reply, sizeof reply, MSG_NOSIGNAL);
  });
  WaitBudget budget{5000 * kMs};
  penstock_reply reply{};
  const Outcome outcome = ask(listener.path(), budget, reply);
  server.join();
  REQUIRE(outcome == Outcome::kDone);
  CHECK(reply.status == EINVAL);
  CHECK(std::string(reply.text) == "why");
  CHECK(budget.left_ns <= 4980 * kMs);
  CHECK(budget.left_ns > 0);
  CHECK(got.header.type == PENSTOCK_TASK_START);
  CHECK(got.header.size_bytes == sizeof got);
}

TEST_CASE("agent_link: a missing socket costs less than 1 ms") {
  const TempDir dir;
  WaitBudget budget{200 * kMs};
  penstock_reply reply{};
  const uint64_t start = monotonic_ns();
  for (int i = 0; i < 100; ++i)
    REQUIRE(ask(dir.path("none"), budget, reply) == Outcome::kAbsent);
  CHECK(monotonic_ns() - start < 100 * kMs);  // 1 ms each, on a busy machine
  CHECK(budget.left_ns == 200 * kMs);
}

TEST_CASE("agent_link: a socket without its daemon counts as absent") {
  Listener listener;
  listener.close();
  WaitBudget budget{200 * kMs};
  penstock_reply reply{};
  CHECK(ask(listener.path(), budget, reply) == Outcome::kAbsent);
}

TEST_CASE("agent_link: a hanging daemon costs the budget once") {
  const Listener listener;
  WaitBudget budget{100 * kMs};
  penstock_reply reply{};
  uint64_t start = monotonic_ns();
  CHECK(ask(listener.path(), budget, reply) == Outcome::kTimedOut);
  CHECK(monotonic_ns() - start >= 100 * kMs);
  CHECK(monotonic_ns() - start < 2000 * kMs);
  CHECK(budget.left_ns == 0);

  start = monotonic_ns();
  CHECK(ask(listener.path(), budget, reply) == Outcome::kTimedOut);
  CHECK(monotonic_ns() - start < 90 * kMs);

  // Both were sent: a daemon that resumes gets both tasks.
  for (int i = 0; i < 2; ++i) {
    const UniqueFd link = listener.accept();
    penstock_task_start got{};
    CHECK(::recv(link.get(), &got, sizeof got, MSG_DONTWAIT) == sizeof got);
  }
}

TEST_CASE("agent_link: a full queue does not block") {
  const Listener listener(0);
  WaitBudget budget{0};
  penstock_reply reply{};
  Outcome outcome = Outcome::kTimedOut;
  for (int i = 0; i < 10 && outcome == Outcome::kTimedOut; ++i)
    outcome = ask(listener.path(), budget, reply);
  CHECK(outcome == Outcome::kBusy);
}

TEST_CASE(
    "agent_link: a message waits for room in a full queue within the budget") {
  const Listener listener(0);
  WaitBudget none{0};
  penstock_reply reply{};
  while (ask(listener.path(), none, reply) != Outcome::kBusy) {
  }
  WaitBudget budget{60 * kMs};
  const uint64_t start = monotonic_ns();
  CHECK(ask(listener.path(), budget, reply) == Outcome::kBusy);
  CHECK(monotonic_ns() - start >= 60 * kMs);
  CHECK(budget.left_ns == 0);

  std::thread makes_room([&] {
    ::usleep(50'000);
    listener.accept();
  });
  // The message was sent but not answered: no longer busy.
  budget.left_ns = 300 * kMs;
  CHECK(ask(listener.path(), budget, reply) == Outcome::kTimedOut);
  makes_room.join();
}

TEST_CASE("agent_link: a listener of another user gets no message") {
  const Listener listener;
  WaitBudget budget{200 * kMs};
  penstock_reply reply{};
  CHECK(ask(listener.path(), budget, reply, ::geteuid() + 1) ==
        Outcome::kNotOurs);
  const penstock_task_start message = task_start();
  CHECK(send_message(listener.path().c_str(), ::geteuid() + 1, &message,
                     sizeof message) == Outcome::kNotOurs);
  const UniqueFd link = listener.accept();
  char byte;
  CHECK(::recv(link.get(), &byte, 1, MSG_DONTWAIT) == 0);  // closed, empty
}

TEST_CASE("agent_link: an invalid reply is refused") {
  const penstock_reply good = reply_to(task_start());
  REQUIRE(outcome_of(good) == Outcome::kDone);

  penstock_reply bad = good;
  bad.header.magic = 1;
  CHECK(outcome_of(bad) == Outcome::kBadReply);
  bad = good;
  bad.header.version = 99;
  CHECK(outcome_of(bad) == Outcome::kBadReply);
  bad = good;
  bad.header.type = PENSTOCK_STATUS;
  CHECK(outcome_of(bad) == Outcome::kBadReply);
  bad = good;
  bad.header.request_id = 8;
  CHECK(outcome_of(bad) == Outcome::kBadReply);
  CHECK(outcome_of(good, sizeof good - 1) == Outcome::kBadReply);
  CHECK(outcome_of(good, 0) == Outcome::kBadReply);

  struct {
    penstock_reply reply;
    char more[64];
  } longer{good, {}};
  CHECK(outcome_of(longer) == Outcome::kBadReply);
}

TEST_CASE("agent_link: a message without an answer arrives after the close") {
  const Listener listener;
  const auto message = make_message<penstock_job_end>(PENSTOCK_JOB_END);
  REQUIRE(send_message(listener.path().c_str(), ::geteuid(), &message,
                       sizeof message) == Outcome::kDone);
  const UniqueFd link = listener.accept();
  penstock_job_end got{};
  CHECK(::recv(link.get(), &got, sizeof got, 0) == sizeof got);
  CHECK(got.header.type == PENSTOCK_JOB_END);
}
