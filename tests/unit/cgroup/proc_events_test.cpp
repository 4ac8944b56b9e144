#include "cgroup/proc_events.h"

#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

#include "cgroup/proc_event_kinds.h"
#include "tests/unit/catch.h"

using namespace penstock;

namespace {

using Bytes = std::vector<std::byte>;
using Kind = ProcEvent::Kind;

// A datagram as the kernel sends it; event_bytes of the event.
Bytes datagram(const proc_event& event,
               size_t event_bytes = sizeof(proc_event)) {
  nlmsghdr header{};
  cn_msg connector{};
  connector.id = {CN_IDX_PROC, CN_VAL_PROC};
  connector.len = static_cast<uint16_t>(event_bytes);
  header.nlmsg_len =
      static_cast<uint32_t>(NLMSG_LENGTH(sizeof connector + event_bytes));
  Bytes bytes(NLMSG_ALIGN(header.nlmsg_len));
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + NLMSG_HDRLEN, &connector, sizeof connector);
  std::memcpy(bytes.data() + NLMSG_HDRLEN + sizeof connector, &event,
              event_bytes);
  return bytes;
}

void set_kind(proc_event& event, uint32_t kind) {
  event.what = static_cast<decltype(event.what)>(kind);
}

proc_event fork_event() {
  proc_event event{};
  set_kind(event, ProcEventKinds::kFork);
  event.timestamp_ns = 77;
  event.event_data.fork = {10, 9, 21, 20};
  return event;
}

// Events until `found` is satisfied; false after 200 ms.
bool await(ProcEvents& source,
           const std::function<bool(const ProcEvent&)>& found) {
  auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  while (std::chrono::steady_clock::now() < deadline) {
    pollfd waiting{source.fd(), POLLIN, 0};
    poll(&waiting, 1, 20);
    auto batch = source.read();
    REQUIRE(batch);
    for (const ProcEvent& event : batch->events) {
      if (found(event)) return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("a fork is decoded") {
  std::vector<ProcEvent> events;
  REQUIRE(decode_proc_events(datagram(fork_event()), events));
  REQUIRE(events.size() == 1);
  CHECK(events[0].kind == Kind::kFork);
  CHECK(events[0].tid == 21);
  CHECK(events[0].pid == 20);
  CHECK(events[0].parent_pid == 9);
  CHECK(events[0].time_ns == 77);
}

TEST_CASE("exec, exit and a change of a name are decoded") {
  std::vector<ProcEvent> events;
  proc_event event{};
  set_kind(event, ProcEventKinds::kExec);
  event.event_data.exec = {31, 30};
  REQUIRE(decode_proc_events(datagram(event), events));
  set_kind(event, ProcEventKinds::kExit);
  event.event_data.exit = {41, 40, 0, 17, 5, 4};
  REQUIRE(decode_proc_events(datagram(event), events));
  set_kind(event, ProcEventKinds::kComm);
  event.event_data.comm = {51, 50, {}};
  REQUIRE(decode_proc_events(datagram(event), events));
  set_kind(event, ProcEventKinds::kSid);
  REQUIRE(decode_proc_events(datagram(event), events));  // ignored
  REQUIRE(events.size() == 3);
  CHECK(events[0].kind == Kind::kExec);
  CHECK(events[0].tid == 31);
  CHECK(events[1].kind == Kind::kExit);
  CHECK(events[1].pid == 40);
  CHECK(events[1].parent_pid == 4);
  CHECK(events[2].kind == Kind::kComm);
  CHECK(events[2].pid == 50);
}

TEST_CASE(
    "several messages of a datagram are decoded, also an older kernel's") {
  Bytes bytes = datagram(fork_event(), 32);  // no room for other kinds
  Bytes second = datagram(fork_event());
  bytes.insert(bytes.end(), second.begin(), second.end());
  std::vector<ProcEvent> events;
  REQUIRE(decode_proc_events(bytes, events));
  CHECK(events.size() == 2);
  CHECK(events[0].tid == 21);
}

TEST_CASE("truncated and foreign messages are refused") {
  const Bytes good = datagram(fork_event());
  std::vector<ProcEvent> events;
  for (size_t size = 1; size < good.size() - 3; ++size) {
    CAPTURE(size);
    CHECK_FALSE(decode_proc_events(std::span(good).first(size), events).ok());
  }
  Bytes foreign = good;
  foreign[NLMSG_HDRLEN] = std::byte{9};  // another connector's index
  CHECK_FALSE(decode_proc_events(foreign, events).ok());
  Bytes tiny = good;
  tiny[0] = std::byte{4};  // nlmsg_len under its own header
  CHECK_FALSE(decode_proc_events(tiny, events).ok());
  CHECK(events.empty());
}

TEST_CASE("a new process and a new thread are seen within 200 ms") {
  auto source = ProcEvents::subscribe();
  if (!source) {
    CHECK((source.error().code == Code::kPermissionDenied ||
           source.error().code == Code::kUnavailable));
    WARN("SKIPPED: " << source.error().message);
    return;
  }
  pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_NAME, "penstock-ldr");
    _exit(0);
  }
  CHECK(await(*source, [&](const ProcEvent& event) {
    return event.kind == Kind::kComm && event.pid == child;
  }));
  waitpid(child, nullptr, 0);
  child = fork();
  if (child == 0) _exit(0);
  CHECK(await(*source, [&](const ProcEvent& event) {
    return event.kind == Kind::kFork && event.tid == child &&
           event.pid == child && event.parent_pid == getpid();
  }));
  waitpid(child, nullptr, 0);
  pid_t tid = 0;
  std::thread([&] { tid = static_cast<pid_t>(syscall(SYS_gettid)); }).join();
  CHECK(await(*source, [&](const ProcEvent& event) {
    return event.kind == Kind::kFork && event.tid == tid &&
           event.pid == getpid();
  }));
}

TEST_CASE("lost events are reported, and later ones still arrive") {
  auto source = ProcEvents::subscribe();
  if (!source) {
    WARN("SKIPPED: " << source.error().message);
    return;
  }
  int small = 1;  // the kernel takes its minimum instead
  REQUIRE(setsockopt(source->fd(), SOL_SOCKET, SO_RCVBUF, &small,
                     sizeof small) == 0);
  for (int i = 0; i < 200; ++i) std::thread([] {}).join();
  bool lost = false;
  for (;;) {
    auto batch = source->read(10);
    REQUIRE(batch);
    lost = lost || batch->lost;
    if (!batch->more) break;
  }
  CHECK(lost);
  pid_t child = fork();
  if (child == 0) _exit(0);
  CHECK(await(*source, [&](const ProcEvent& event) {
    return event.kind == Kind::kFork && event.tid == child;
  }));
  waitpid(child, nullptr, 0);
}
