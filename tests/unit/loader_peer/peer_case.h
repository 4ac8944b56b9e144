// Several nodes in one process, each with its own tmpfs folder and loopback
// address.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "loader/peer/peer_group.h"
#include "tests/unit/loader_cache/cache_case.h"

namespace penstock::test {

constexpr uint64_t kManyBytes = 1 << 30;

// Seals in the clear; each seal is opened once.
class FakeAuthority : public PeerAuthority {
 public:
  explicit FakeAuthority(std::string user = "me") : user_(std::move(user)) {}

  Result<std::string> seal(const std::string& claim) override {
    const std::lock_guard lock(mutex_);
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms_.load()));
    if (is_gone_) return Error{Code::kUnavailable, 0, "no seal"};
    return user_ + ":" + std::to_string(next_number()++) + ":" + claim;
  }
  Result<std::string> open(const std::string& credential) override {
    const std::lock_guard lock(mutex_);
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms_.load()));
    if (is_gone_) return Error{Code::kUnavailable, 0, "no seal"};
    const size_t user = credential.find(':');
    const size_t number =
        user == credential.npos ? user : credential.find(':', user + 1);
    if (number == credential.npos) return invalid("no credential");
    if (credential.substr(0, user) != user_) {
      return Error{Code::kPermissionDenied, 0, "another user's"};
    }
    if (!opened_.insert(credential).second) {
      return Error{Code::kPermissionDenied, 0, "opened before"};
    }
    return credential.substr(number + 1);
  }
  void set_gone(bool is_gone) { is_gone_ = is_gone; }
  void set_delay_ms(int delay_ms) { delay_ms_ = delay_ms; }

 private:
  static std::atomic<uint64_t>& next_number() {
    static std::atomic<uint64_t> next = 0;
    return next;
  }
  std::mutex mutex_;
  const std::string user_;
  std::set<std::string> opened_;
  std::atomic<bool> is_gone_ = false;
  std::atomic<int> delay_ms_ = 0;
};

struct PeerNode {
  std::unique_ptr<CacheCase> folder = std::make_unique<CacheCase>();
  std::shared_ptr<SampleCache> cache;
  std::shared_ptr<FakeAuthority> authority = std::make_shared<FakeAuthority>();
  std::shared_ptr<PeerGroup> group;

  explicit PeerNode(uint64_t samples) {
    ::setenv("PENSTOCK_CACHE_DIR", folder->base().c_str(), 1);
    cache = folder->open(samples, {.most_bytes = kManyBytes});
  }
  PeerNode(PeerNode&&) = default;
  PeerNode& operator=(PeerNode&&) = delete;
  ~PeerNode() {
    group.reset();
    cache.reset();
  }
  void join(const CachePeersOptions& options) {
    auto opened = PeerGroup::open(cache, options, authority);
    if (!opened) FAIL(opened.error().message);
    group = *opened;
  }
};

inline std::string node_name(size_t i) {
  return "127.0.0." + std::to_string(i + 2);
}

// Ports for this test and its children; other tests may run at the same time.
inline uint16_t test_port(int number = 0) {
  static const int first = 20000 + ::getpid() % 500 * 20;
  return static_cast<uint16_t>(first + number);
}

inline CachePeersOptions options_of(size_t nodes, size_t self) {
  CachePeersOptions options;
  for (size_t i = 0; i < nodes; ++i) options.nodes.push_back(node_name(i));
  options.self = options.address = node_name(self);
  options.first_port = test_port();
  options.last_port = test_port(19);
  return options;
}

inline bool wait_until(const std::function<bool()>& is_so, int seconds = 20) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

inline double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

// Limits the process's descriptors during the object's life.
class FewFds {
 public:
  explicit FewFds(rlim_t count) {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const rlimit few{count, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  }
  ~FewFds() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewFds(const FewFds&) = delete;
  FewFds& operator=(const FewFds&) = delete;

 private:
  rlimit before_{};
};

// Opens `count` descriptors, or as many as are left.
inline std::vector<UniqueFd> take_fds(size_t count) {
  std::vector<UniqueFd> fds;
  while (fds.size() < count) {
    UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!fd) break;
    fds.push_back(std::move(fd));
  }
  return fds;
}

// The first sample from `from` on that the node owns (or does not own).
inline uint64_t sample_of(const PeerGroup& group, bool is_own,
                          uint64_t from = 0) {
  while (group.is_own(from) != is_own) ++from;
  return from;
}

}  // namespace penstock::test
