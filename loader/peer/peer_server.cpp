#include "loader/peer/peer_server.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/blocked_thread.h"
#include "common/clock.h"
#include "loader/cache/membership.h"

namespace penstock {
namespace {

constexpr int kTick_ms = 500;
constexpr int kFullTick_ms = 10;
// Pause of accepting when descriptors or memory ran out.
constexpr uint64_t kNoAccept_ns = 500000000;
// Pause of accepting when no unauthenticated connection is silent.
constexpr uint64_t kNoRoom_ns = 10000000;

}  // namespace

PeerServer::PeerServer(std::shared_ptr<SampleCache> cache,
                       std::shared_ptr<PeerAuthority> authority,
                       Options options)
    : options_(std::move(options)),
      waker_(std::make_shared<Waker>()),
      chores_([waker = waker_] { waker->wake(); }) {
  service_.fingerprint = cache->core().file().header().fingerprint;
  service_.cache = std::move(cache);
  service_.authority = std::move(authority);
  service_.node = options_.node;
}

Result<std::unique_ptr<PeerServer>> PeerServer::start(
    std::shared_ptr<SampleCache> cache,
    std::shared_ptr<PeerAuthority> authority, Options options) {
  std::unique_ptr<PeerServer> server(new PeerServer(
      std::move(cache), std::move(authority), std::move(options)));
  if (const int error = server->waker_->error(); error != 0) {
    return Error{Code::kLimit, error, "no descriptor for the cache's server"};
  }
  auto thread = start_blocked_thread([it = server.get()] { it->run(); });
  if (!thread) return std::move(thread).error();
  server->thread_ = *std::move(thread);
  return server;
}

PeerServer::~PeerServer() {
  stopping_ = true;
  waker_->wake();
  if (thread_.joinable()) thread_.join();
}

void PeerServer::run() {
  while (!stopping_) {
    if (listener_ || try_to_serve()) {
      serve_once();
      publish_counters();
    } else {
      wait_for_turn();
    }
  }
  peers_.clear();
  port_ = 0;
}

bool PeerServer::try_to_serve() {
  lock_ = UnforkedFd([this] {
    auto lock = lock_serving(service_.cache->core().file().fd());
    return lock ? *std::move(lock) : UniqueFd();
  });
  if (!lock_) return false;
  auto listener = listen_for_peers(options_.address, options_.ports);
  if (!listener) {
    lock_.reset();
    if (!has_warned_ && options_.warn) {
      options_.warn("cannot serve the cache to other nodes: " +
                    listener.error().message);
    }
    has_warned_ = true;
    return false;
  }
  listener_ = std::move(listener->fd);
  service_.port = listener->port;
  port_ = listener->port;
  return true;
}

void PeerServer::wait_for_turn() {
  pollfd woken{waker_->fd(), POLLIN, 0};
  (void)::poll(&woken, 1, kTakeOver_ms);
  waker_->clear();
}

void PeerServer::serve_once() {
  std::vector<pollfd> fds{{waker_->fd(), POLLIN, 0},
                          {listener_.get(), POLLIN, 0}};
  const bool is_full = monotonic_ns() < accept_from_ns_;
  if (is_full) fds[1].fd = -1;
  std::vector<uint64_t> ids;
  bool wants_turn = false;
  for (const auto& [id, peer] : peers_) {
    wants_turn = wants_turn || peer->wants_turn();
    fds.push_back({peer->fd(), peer->events(), 0});
    ids.push_back(id);
  }
  const int found = ::poll(fds.data(), fds.size(),
                           wants_turn ? 0
                           : is_full  ? kFullTick_ms
                                      : kTick_ms);
  const uint64_t now_ns = monotonic_ns();
  if (found > 0 || wants_turn) {
    if (fds[0].revents != 0) waker_->clear();
    for (size_t i = 0; i < ids.size(); ++i) {
      go_on_with(ids[i], fds[i + 2].revents, now_ns);
    }
    chores_.finish();
    if (fds[1].revents != 0) accept_all(now_ns);
  }
  close_late(now_ns);
}

size_t PeerServer::strangers() const {
  return static_cast<size_t>(
      std::count_if(peers_.begin(), peers_.end(),
                    [](const auto& peer) { return !peer.second->is_known(); }));
}

// Makes room for one more unauthenticated connection by closing a silent one.
// All processes of a job may connect at once, so active ones are not closed.
bool PeerServer::make_room(uint64_t now_ns) {
  if (strangers() < kMostStrangers) return true;
  const auto silent = std::find_if(
      peers_.begin(), peers_.end(),
      [now_ns](const auto& peer) { return peer.second->is_silent(now_ns); });
  if (silent == peers_.end()) return false;
  peers_.erase(silent);
  return true;
}

void PeerServer::accept_all(uint64_t now_ns) {
  while (true) {
    if (!make_room(now_ns)) {
      accept_from_ns_ = now_ns + kNoRoom_ns;
      return;
    }
    UnforkedFd fd([this] {
      return UniqueFd(::accept4(listener_.get(), nullptr, nullptr,
                                SOCK_NONBLOCK | SOCK_CLOEXEC));
    });
    if (!fd && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (!fd && errno != EAGAIN) accept_from_ns_ = now_ns + kNoAccept_ns;
    if (!fd) return;
    if (peers_.size() >= kMostPeers || !can_spare(fd.get())) continue;
    peers_.emplace(next_id_++, std::make_unique<ServedPeer>(std::move(fd),
                                                            service_, now_ns));
  }
}

void PeerServer::go_on_with(uint64_t id, short events, uint64_t now_ns) {
  const auto peer = peers_.find(id);
  if (peer == peers_.end() || (events == 0 && !peer->second->wants_turn())) {
    return;
  }
  if (!peer->second->go_on(events, now_ns)) {
    peers_.erase(peer);
    return;
  }
  ask_authority(id);
}

void PeerServer::ask_authority(uint64_t id) {
  ServedPeer& peer = *peers_.at(id);
  const ServedPeer::Wanted wanted = peer.wanted();
  if (wanted == ServedPeer::Wanted::kNothing) return;
  const bool is_sealed = wanted == ServedPeer::Wanted::kSeal;
  const bool is_added =
      chores_.add([this, id, is_sealed, authority = service_.authority,
                   text = peer.take_wanted()]() -> PeerChores::Then {
        auto answer = is_sealed ? authority->seal(text) : authority->open(text);
        return [this, id, is_sealed, answer = std::move(answer)] {
          take_answer(id, is_sealed, answer);
        };
      });
  if (!is_added) peers_.erase(id);
}

void PeerServer::take_answer(uint64_t id, bool is_sealed,
                             const Result<std::string>& answer) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  ServedPeer& peer = *found->second;
  const uint64_t now_ns = monotonic_ns();
  if (!answer && !is_sealed && !is_own_trouble(answer.error())) {
    ++service_.refused;
  }
  if (answer && (is_sealed ? peer.take_sealed(*answer, now_ns)
                           : peer.take_opened(*answer, now_ns))) {
    ask_authority(id);  // frames that came meanwhile may need another call
    return;
  }
  peers_.erase(found);
}

void PeerServer::close_late(uint64_t now_ns) {
  std::erase_if(peers_, [now_ns](const auto& peer) {
    return peer.second->is_late(now_ns);
  });
}

void PeerServer::publish_counters() {
  served_ = service_.served;
  taken_ = service_.taken;
  refused_ = service_.refused;
}

}  // namespace penstock
