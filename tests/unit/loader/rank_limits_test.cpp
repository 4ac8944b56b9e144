#include "loader/train/rank_limits.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "common/protocol.h"
#include "common/unique_fd.h"
#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"

using namespace penstock;
using penstock::test::TempFolder;

namespace {

// Answers every LIMIT with one status and records the requests.
class FakeAgent {
 public:
  FakeAgent(const std::string& path, int32_t status)
      : status_(status),
        fd_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address),
                   sizeof address) == 0);
    REQUIRE(::listen(fd_.get(), 8) == 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeAgent() {
    ::shutdown(fd_.get(), SHUT_RDWR);
    thread_.join();
  }
  std::vector<penstock_limit> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  void serve() {
    for (;;) {
      const UniqueFd peer(::accept(fd_.get(), nullptr, nullptr));
      if (!peer) return;
      penstock_limit limit{};
      if (::recv(peer.get(), &limit, sizeof limit, 0) !=
          ssize_t(sizeof limit)) {
        continue;
      }
      {
        const std::lock_guard lock(mutex_);
        asked_.push_back(limit);
      }
      penstock_reply reply{};
      reply.header = {PENSTOCK_MAGIC, PENSTOCK_PROTOCOL_VERSION, PENSTOCK_REPLY,
                      sizeof reply, 1};
      reply.status = status_;
      std::strncpy(reply.text, status_ == 0 ? "" : "not here",
                   sizeof reply.text - 1);
      (void)::send(peer.get(), &reply, sizeof reply, MSG_NOSIGNAL);
    }
  }

  int32_t status_;
  UniqueFd fd_;
  std::mutex mutex_;
  std::vector<penstock_limit> asked_;
  std::thread thread_;
};

int cpus_of(pid_t tid) {
  cpu_set_t set;
  REQUIRE(::sched_getaffinity(tid, sizeof set, &set) == 0);
  return CPU_COUNT(&set);
}

}  // namespace

TEST_CASE("limits are requested from penstockd, renewed, and ended") {
  const TempFolder folder;
  const std::string path = folder.path() + "/socket";
  FakeAgent agent(path, 0);
  {
    RankLimits limits(path);
    AnalysisReady ready;
    limits.set(0.75, 2e6, ready);
    CHECK(ready.cores_by == "quota");
    CHECK(ready.bytes_per_s_by == "kernel");
    CHECK(ready.why.empty());
    limits.renew(monotonic_ns());  // not yet due
    limits.renew(UINT64_MAX / 2);
    AnalysisReady none;
    limits.set(std::nullopt, std::nullopt, none);
    CHECK(none.cores_by.empty());
    CHECK(none.bytes_per_s_by.empty());
  }
  const auto asked = agent.asked();
  REQUIRE(asked.size() == 4);
  CHECK(asked[0].millicores == 750);
  CHECK(asked[0].bytes_per_s == 2'000'000);
  CHECK(asked[1].millicores == 750);
  CHECK(asked[2].millicores == 0);
  CHECK(asked[2].ends == 0);
  CHECK(asked[3].ends == 1);
}

TEST_CASE("limits are requested again from a restarted penstockd") {
  const TempFolder folder;
  const std::string path = folder.path() + "/socket";
  std::optional<FakeAgent> agent(std::in_place, path, 0);
  RankLimits limits(path);
  AnalysisReady ready;
  limits.set(0.5, std::nullopt, ready);
  CHECK(ready.cores_by == "quota");
  agent.reset();
  REQUIRE(::unlink(path.c_str()) == 0);
  limits.renew(UINT64_MAX / 4);  // no penstockd
  agent.emplace(path, 0);
  limits.renew(UINT64_MAX / 2);
  const auto asked = agent->asked();
  REQUIRE(asked.size() == 1);
  CHECK(asked[0].millicores == 500);
}

TEST_CASE("without penstockd whole CPUs are set by affinity, then restored") {
  const int before = cpus_of(0);
  {
    RankLimits limits("/nonexistent/socket");
    AnalysisReady ready;
    limits.set(1.0, std::nullopt, ready);
    if (before > 1) {
      CHECK(ready.cores_by == "affinity");
      CHECK(cpus_of(0) == 1);
      std::thread([] { CHECK(cpus_of(0) == 1); }).join();
    }
    AnalysisReady part;
    limits.set(0.5, 1e6, part);
    CHECK(part.cores_by.empty());
    CHECK(part.bytes_per_s_by.empty());
    CHECK(part.why.find("/nonexistent/socket") != std::string::npos);
    CHECK(cpus_of(0) == before);
    AnalysisReady many;
    limits.set(double(before + 1), std::nullopt, many);
    CHECK(many.cores_by.empty());
    AnalysisReady one;
    limits.set(1.0, std::nullopt, one);
  }
  CHECK(cpus_of(0) == before);
}

TEST_CASE("a refusal by penstockd is reported with its message") {
  const TempFolder folder;
  const std::string path = folder.path() + "/socket";
  FakeAgent agent(path, ENODEV);
  RankLimits limits(path);
  AnalysisReady ready;
  limits.set(0.5, 1e6, ready);
  CHECK(ready.why == "not here");
  CHECK(ready.cores_by.empty());
}
