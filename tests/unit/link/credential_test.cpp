// Credentials with real munged processes that the test starts.
#include "link/credential.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <munge.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>
#include <vector>

#include "private_munge.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

using Catch::Matchers::ContainsSubstring;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

#define NEEDS_MUNGED()                    \
  if (!PrivateMunge::installed()) {       \
    WARN("skipped: no munged installed"); \
    return;                               \
  }

TEST_CASE("a sealed payload is opened with the sender's uid and gid") {
  NEEDS_MUNGED();
  PrivateMunge munge;
  MungeCredentials sender(munge.socket()), receiver(munge.socket());
  for (const std::string& payload :
       {std::string("hello"), std::string(), std::string("a\0b\xff", 4),
        std::string(kMaxPayloadBytes, 'x')}) {
    Result<std::string> sealed = sender.encode(payload, kAnyUid, 60);
    REQUIRE(sealed);
    CHECK(sealed->size() <= kMaxCredentialBytes);
    Result<Opened> opened = receiver.decode(*sealed);
    REQUIRE(opened);
    CHECK(opened->payload == payload);
    CHECK(opened->uid == ::geteuid());
    CHECK(opened->gid == ::getegid());
    CHECK(std::abs(double(opened->encoded_unix_s - ::time(nullptr))) < 60);
  }
}

TEST_CASE("a credential opens only once, for its user and under its key") {
  NEEDS_MUNGED();
  PrivateMunge munge;
  MungeCredentials ours(munge.socket());
  SECTION("once") {
    Result<std::string> sealed = ours.encode("x", kAnyUid, 60);
    REQUIRE(sealed);
    REQUIRE(ours.decode(*sealed));
    Result<Opened> again = ours.decode(*sealed);
    REQUIRE_FALSE(again);
    CHECK(again.error().code == Code::kPermissionDenied);
    CHECK_THAT(again.error().message, ContainsSubstring("opened before"));
  }
  SECTION("by its user") {
    Result<std::string> mine = ours.encode("x", ::geteuid(), 60);
    REQUIRE(mine);
    CHECK(ours.decode(*mine));
    Result<std::string> foreign = ours.encode("x", ::geteuid() + 1, 60);
    REQUIRE(foreign);
    Result<Opened> opened = ours.decode(*foreign);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == Code::kPermissionDenied);
    CHECK_THAT(opened.error().message, ContainsSubstring("another user"));
  }
  SECTION("under its key") {
    PrivateMunge stranger("another");
    Result<std::string> sealed =
        MungeCredentials(stranger.socket()).encode("x", kAnyUid, 60);
    REQUIRE(sealed);
    Result<Opened> opened = ours.decode(*sealed);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == Code::kPermissionDenied);
    CHECK_THAT(opened.error().message, ContainsSubstring("munge.key"));
  }
}

namespace {

// Each side rounds to a second, and time(2) may be a tick behind other clocks.
bool says_ten_minutes(const std::string& message, const char* format) {
  for (const int seconds : {599, 600, 601}) {
    const std::string text = fmt::format(fmt::runtime(format), seconds);
    if (message.find(text) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a clock that is ten minutes wrong is an error with the seconds") {
  NEEDS_MUNGED();
  PrivateMunge here, ahead("one", 600), behind("one", -600);
  MungeCredentials ours(here.socket());
  Result<std::string> sealed =
      MungeCredentials(ahead.socket()).encode("x", kAnyUid, 60);
  REQUIRE(sealed);
  Result<Opened> opened = ours.decode(*sealed);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == Code::kPermissionDenied);
  CHECK_THAT(opened.error().message, ContainsSubstring("from the future"));
  CAPTURE(opened.error().message);
  CHECK(says_ten_minutes(opened.error().message, " {} s ahead"));
  sealed = MungeCredentials(behind.socket()).encode("x", kAnyUid, 60);
  REQUIRE(sealed);
  opened = ours.decode(*sealed);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == Code::kPermissionDenied);
  CHECK_THAT(opened.error().message, ContainsSubstring("expired"));
  CHECK(says_ten_minutes(opened.error().message, "by up to {} s"));
  CHECK_THAT(opened.error().message, ContainsSubstring("allowed are 60 s"));
}

TEST_CASE("a missing munged is an error with the remedy") {
  NEEDS_MUNGED();
  PrivateMunge munge;
  MungeCredentials ours(munge.socket());
  munge.kill();
  Result<std::string> sealed = ours.encode("x", kAnyUid, 60);
  REQUIRE_FALSE(sealed);
  CHECK(sealed.error().code == Code::kUnavailable);
  CHECK_THAT(sealed.error().message, ContainsSubstring(munge.socket()));
  CHECK_THAT(sealed.error().message, ContainsSubstring("start munge"));
}

// Fills munged's queue of connections.
std::vector<int> fill_queue(const std::string& path) {
  std::vector<int> held;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  while (true) {
    const int fd =
        ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    REQUIRE(fd >= 0);
    held.push_back(fd);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) !=
        0) {
      REQUIRE(errno == EAGAIN);
      return held;
    }
    REQUIRE(held.size() < 100000);
  }
}

TEST_CASE("a munged that hangs delays only one call, for 200 ms") {
  NEEDS_MUNGED();
  PrivateMunge munge;
  MungeCredentials ours(munge.socket(), 200);
  REQUIRE(ours.encode("x", kAnyUid, 60));
  munge.freeze();

  Clock::time_point start = Clock::now();
  Result<std::string> sealed = ours.encode("x", kAnyUid, 60);
  REQUIRE_FALSE(sealed);
  CHECK(sealed.error().code == Code::kUnavailable);
  CHECK_THAT(sealed.error().message, ContainsSubstring("within 200 ms"));
  CHECK(seconds_since(start) >= 0.19);
  CHECK(seconds_since(start) < 1.5);

  start = Clock::now();
  for (int i = 0; i < 100; ++i) {
    Result<Opened> opened = ours.decode("MUNGE:x");
    REQUIRE_FALSE(opened);
    REQUIRE(opened.error().code == Code::kUnavailable);
    REQUIRE_THAT(opened.error().message,
                 ContainsSubstring("has not answered for"));
  }
  // Waiting each time would take 20 s.
  CHECK(seconds_since(start) < 5);

  munge.thaw();
  // libmunge itself may still be between two of its own tries.
  start = Clock::now();
  while (!ours.encode("x", kAnyUid, 60)) {
    REQUIRE(seconds_since(start) < 30);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

TEST_CASE("a munged with a full queue delays calls no longer") {
  NEEDS_MUNGED();
  PrivateMunge munge;
  MungeCredentials ours(munge.socket(), 200);
  munge.freeze();
  const std::vector<int> held = fill_queue(munge.socket());
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < 10; ++i) {
    Result<std::string> sealed = ours.encode("x", kAnyUid, 60);
    REQUIRE_FALSE(sealed);
    CHECK(sealed.error().code == Code::kUnavailable);
    CHECK_THAT(sealed.error().message, ContainsSubstring(munge.socket()));
  }
  CHECK(seconds_since(start) < 2.5);
  for (int fd : held) ::close(fd);
}

TEST_CASE("an object destroyed while munged hangs ends its thread") {
  NEEDS_MUNGED();
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  Clock::time_point start = Clock::now();
  while (threads() > 1) {  // of earlier tests
    REQUIRE(seconds_since(start) < 30);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  PrivateMunge munge;
  munge.freeze();
  {
    MungeCredentials ours(munge.socket(), 50);
    CHECK_FALSE(ours.encode("x", kAnyUid, 60));
    CHECK(threads() == 2);
  }
  munge.kill();
  start = Clock::now();
  while (threads() > 1) {
    REQUIRE(seconds_since(start) < 30);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST_CASE("invalid credentials are refused") {
  NEEDS_MUNGED();
  PrivateMunge munge;
  MungeCredentials ours(munge.socket());
  Result<std::string> sealed = ours.encode("hello", kAnyUid, 60);
  REQUIRE(sealed);
  std::string altered = *sealed;
  altered[altered.size() / 2] ^= 1;
  for (const std::string& text :
       {std::string(), std::string("hello"), std::string("MUNGE::"),
        std::string("MUNGE:AAAA:"), sealed->substr(0, sealed->size() / 2),
        altered, std::string(kMaxCredentialBytes, 'A')}) {
    Result<Opened> opened = ours.decode(text);
    REQUIRE_FALSE(opened);
    INFO(opened.error().message);
    CHECK((opened.error().code == Code::kInvalidArgument ||
           opened.error().code == Code::kPermissionDenied ||
           opened.error().code == Code::kLimit));
  }
  CHECK(ours.decode(*sealed));
}

TEST_CASE("sizes and times out of range are refused without munge") {
  MungeCredentials nobody("/nonexistent/munge.sock");
  Result<std::string> sealed =
      nobody.encode(std::string(kMaxPayloadBytes + 1, 'x'), kAnyUid, 60);
  REQUIRE_FALSE(sealed);
  CHECK(sealed.error().code == Code::kLimit);
  for (int ttl_s : {-1, 0, 3601}) {
    sealed = nobody.encode("x", kAnyUid, ttl_s);
    REQUIRE_FALSE(sealed);
    CHECK(sealed.error().code == Code::kInvalidArgument);
    CHECK_THAT(sealed.error().message, ContainsSubstring("1 to 3600"));
  }
  Result<Opened> opened =
      nobody.decode(std::string(kMaxCredentialBytes + 1, 'x'));
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == Code::kLimit);
}

TEST_CASE("every error of munge has a one-line text and a code") {
  struct Row {
    int munge_code;
    Code code;
    const char* says;
  };
  for (const Row& row :
       {Row{EMUNGE_SNAFU, Code::kUnavailable, "journalctl -u munge"},
        Row{EMUNGE_BAD_LENGTH, Code::kLimit, "too large"},
        Row{EMUNGE_NO_MEMORY, Code::kUnavailable, "detail"},
        Row{EMUNGE_SOCKET, Code::kUnavailable, "/run/m.sock"},
        Row{EMUNGE_BAD_CRED, Code::kInvalidArgument, "not a credential"},
        Row{EMUNGE_BAD_CIPHER, Code::kInvalidArgument, "ciphers"},
        Row{EMUNGE_BAD_REALM, Code::kPermissionDenied, "realm"},
        Row{EMUNGE_CRED_INVALID, Code::kPermissionDenied, "munge.key"},
        Row{EMUNGE_CRED_EXPIRED, Code::kPermissionDenied, "by up to 90 s"},
        Row{EMUNGE_CRED_REWOUND, Code::kPermissionDenied, "is -90 s ahead"},
        Row{EMUNGE_CRED_REPLAYED, Code::kPermissionDenied, "sent twice"},
        Row{EMUNGE_CRED_UNAUTHORIZED, Code::kPermissionDenied, "another"}}) {
    Error error = credential_error(row.munge_code, {1000, 1090, 60},
                                   "/run/m.sock", "de\ntail detail");
    CHECK(error.code == row.code);
    CHECK_THAT(error.message, ContainsSubstring(row.says));
    CHECK(error.message.find('\n') == std::string::npos);
  }
}

TEST_CASE("sessions differ and are never 0") {
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random_session());
  CHECK(seen.size() == 1000);
  CHECK_FALSE(seen.contains(0));
}

}  // namespace
}  // namespace penstock
