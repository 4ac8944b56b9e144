#include "tools/penstock/client.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <thread>

#include "fake_agent.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

struct Asked {
  explicit Asked(FakeAgent::Handler handler, int timeout_ms = 5000)
      : agent(directory.file("s"), std::move(handler)),
        result(ask_status(directory.file("s"), 77, timeout_ms)) {}

  ScratchDirectory directory;
  FakeAgent agent;
  Result<std::string> result;
};

TEST_CASE("a request follows protocol.h, and the document is returned") {
  penstock_status seen{};
  Asked asked([&](const penstock_status& request, FakeAnswer& answer) {
    seen = request;
    answer.document = "{\"a\": 1}";
  });
  REQUIRE(asked.result);
  CHECK(*asked.result == "{\"a\": 1}");
  CHECK(seen.header.magic == PENSTOCK_MAGIC);
  CHECK(seen.header.version == PENSTOCK_PROTOCOL_VERSION);
  CHECK(seen.header.type == PENSTOCK_STATUS);
  CHECK(seen.header.size_bytes == sizeof(penstock_status));
  CHECK(seen.job_id == 77);
}

TEST_CASE("a request to switch follows protocol.h") {
  static_assert(sizeof(penstock_switch) == sizeof(penstock_status));
  for (bool off : {false, true}) {
    ScratchDirectory directory;
    penstock_switch seen{};
    FakeAgent agent(directory.file("s"),
                    [&](const penstock_status& request, FakeAnswer& answer) {
                      std::memcpy(&seen, &request, sizeof seen);
                      answer.document = "{}";
                    });
    REQUIRE(ask_switch(directory.file("s"), off));
    CHECK(seen.header.type == PENSTOCK_SWITCH);
    CHECK(seen.header.size_bytes == sizeof(penstock_switch));
    CHECK(seen.off == (off ? 1 : 0));
  }
}

size_t open_descriptors() {
  std::filesystem::directory_iterator files("/proc/self/fd");
  return size_t(std::distance(begin(files), end(files)));
}

TEST_CASE("surplus descriptors are closed and do not disturb the answer") {
  const size_t before = open_descriptors();
  {
    Asked asked([](const penstock_status&, FakeAnswer& answer) {
      answer.document = "x";
      answer.documents = 3;
    });
    REQUIRE(asked.result);
    CHECK(*asked.result == "x");
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("refusals keep penstockd's reason") {
  struct Row {
    int status;
    const char* text;
    Code code;
    const char* message;
  };
  for (const Row& row :
       {Row{ENOENT, "no such job", Code::kNotFound, "penstockd: no such job"},
        Row{EPERM, "not your\njob", Code::kPermissionDenied,
            "penstockd: not your?job"},
        Row{EIO, "", Code::kIo, "penstockd refuses: Input/output error"},
        Row{-5, "", Code::kInvalidArgument,
            "the answer's status is malformed"}}) {
    Asked asked([&](const penstock_status&, FakeAnswer& answer) {
      answer.reply.status = row.status;
      std::strcpy(answer.reply.text, row.text);
    });
    REQUIRE_FALSE(asked.result);
    CHECK(asked.result.error().code == row.code);
    CHECK(asked.result.error().message == row.message);
  }
}

TEST_CASE("a refusal text of the field's full length is read without overrun") {
  Asked asked([](const penstock_status&, FakeAnswer& answer) {
    answer.reply.status = EPERM;
    std::memset(answer.reply.text, 'x', sizeof(answer.reply.text));
  });
  REQUIRE_FALSE(asked.result);
  CHECK(asked.result.error().message ==
        "penstockd: " + std::string(sizeof(penstock_reply::text), 'x'));
}

TEST_CASE("an answer that breaks the protocol is refused") {
  using Break = void (*)(FakeAnswer&);
  for (Break spoil : {
           Break([](FakeAnswer& it) { it.reply.header.magic = 0; }),
           Break([](FakeAnswer& it) { it.reply.header.type = 1; }),
           Break([](FakeAnswer& it) { it.reply.header.size_bytes = 4; }),
           Break([](FakeAnswer& it) { it.reply.header.request_id += 1; }),
           Break([](FakeAnswer& it) { it.reply.header.version = 9; }),
           Break([](FakeAnswer& it) { it.reply_bytes = 8; }),
           Break([](FakeAnswer& it) { it.documents = 8; }),
           Break([](FakeAnswer& it) { it.document.clear(); }),
       }) {
    Asked asked([&](const penstock_status&, FakeAnswer& answer) {
      answer.document = "{}";
      spoil(answer);
    });
    REQUIRE_FALSE(asked.result);
    CHECK(asked.result.error().code == Code::kInvalidArgument);
  }
}

TEST_CASE("a request to an agent without an answer ends at its timeout") {
  auto start = std::chrono::steady_clock::now();
  Asked asked(
      [](const penstock_status&, FakeAnswer& answer) { answer.silent = true; },
      100);
  REQUIRE_FALSE(asked.result);
  CHECK(asked.result.error().code == Code::kUnavailable);
  CHECK(asked.result.error().message.ends_with(" does not answer"));
  auto waited = std::chrono::steady_clock::now() - start;
  CHECK(waited >= std::chrono::milliseconds(90));
  CHECK(waited < std::chrono::seconds(5));
}

TEST_CASE("a request to an agent with a full queue ends at its timeout") {
  ScratchDirectory directory;
  UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  directory.file("s").copy(address.sun_path, sizeof(address.sun_path) - 1);
  auto* name = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(listener.get(), name, sizeof(address)) == 0);
  REQUIRE(::listen(listener.get(), 0) == 0);
  UniqueFd first(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(first.get(), name, sizeof(address)) == 0);
  Result<std::string> result = ask_status(directory.file("s"), 0, 100);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::kUnavailable);
}

TEST_CASE("signals while it waits do not end a request") {
  struct sigaction counts {};
  static volatile sig_atomic_t count = 0;
  counts.sa_handler = [](int) { count = count + 1; };
  counts.sa_flags = SA_RESTART;  // no help where a call has a time-out
  struct sigaction before {};
  REQUIRE(::sigaction(SIGUSR1, &counts, &before) == 0);
  const pthread_t asking = ::pthread_self();
  Asked asked([&](const penstock_status&, FakeAnswer& answer) {
    for (int i = 0; i < 20; ++i) {
      ::pthread_kill(asking, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    answer.document = "{}";
  });
  ::sigaction(SIGUSR1, &before, nullptr);
  CHECK(asked.result);
  CHECK(count > 0);
}

TEST_CASE("the error names an unreachable socket") {
  ScratchDirectory directory;
  Result<std::string> result = ask_status(directory.file("none"), 0);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::kUnavailable);
  CHECK(result.error().message == "penstockd at " + directory.file("none") +
                                      " cannot be reached: No such file or "
                                      "directory");
  result = ask_status(std::string(200, 'x'), 0);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::kInvalidArgument);
  Asked asked([](const penstock_status&, FakeAnswer& answer) {
    answer.hang_up = true;
  });
  REQUIRE_FALSE(asked.result);
  CHECK(asked.result.error().code == Code::kUnavailable);
}

TEST_CASE("a socket served by another user is refused") {
  if (::geteuid() != 0) return;  // only root can change its user
  ScratchDirectory directory;
  REQUIRE(::chmod(directory.path.c_str(), 0777) == 0);
  // The kernel takes the listener's identity when it begins to listen.
  REQUIRE(::seteuid(65534) == 0);
  FakeAgent agent(directory.file("s"),
                  [](const penstock_status&, FakeAnswer& answer) {
                    answer.document = "{}";
                  });
  REQUIRE(::seteuid(0) == 0);
  Result<std::string> result = ask_status(directory.file("s"), 0);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::kPermissionDenied);
  CHECK(result.error().message ==
        directory.file("s") + " is served by user 65534, not by root");
}

}  // namespace
}  // namespace penstock
