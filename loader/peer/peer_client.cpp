#include "loader/peer/peer_client.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "common/blocked_thread.h"
#include "common/clock.h"

namespace penstock {
namespace {

// Extra wait of a caller for the client's thread, which reports late requests
// itself unless it gets no CPU.
constexpr uint64_t kGrace_ns = 50000000;
constexpr uint64_t kLongest_ms = 60000;

int poll_ms(uint64_t deadline_ns, uint64_t now_ns) {
  if (deadline_ns <= now_ns) return 0;
  const uint64_t ms = (deadline_ns - now_ns - 1) / 1000000 + 1;
  return static_cast<int>(std::min(ms, kLongest_ms));
}

}  // namespace

PeerClient::PeerClient(PeerLinkOptions options,
                       std::function<void(const std::string& what)> warn)
    : options_(std::move(options)),
      warn_(std::move(warn)),
      waker_(std::make_shared<Waker>()),
      chores_{PeerChores([waker = waker_] { waker->wake(); }),
              PeerChores([waker = waker_] { waker->wake(); })} {}

Result<std::unique_ptr<PeerClient>> PeerClient::start(
    const std::vector<std::string>& nodes, PeerLinkOptions options,
    std::function<void(const std::string& what)> warn) {
  std::unique_ptr<PeerClient> client(
      new PeerClient(std::move(options), std::move(warn)));
  if (const int error = client->waker_->error(); error != 0) {
    return Error{Code::kLimit, error, "no descriptor for asking other nodes"};
  }
  client->peers_ = std::vector<Peer>(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    client->peers_[i].link = std::make_unique<PeerLink>(
        nodes[i], client->options_, client->chores_, client->events_of(i));
  }
  auto thread = start_blocked_thread([it = client.get()] { it->run(); });
  if (!thread) return std::move(thread).error();
  client->thread_ = *std::move(thread);
  return client;
}

PeerClient::~PeerClient() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    waker_->wake();
  }
  if (thread_.joinable()) thread_.join();
}

PeerLink::Events PeerClient::events_of(size_t node) {
  PeerLink::Events events;
  events.answered = [this](PeerCall& call, const PeerHead& head,
                           std::span<const uint8_t> body) {
    finish(call, &head, body);
  };
  events.failed = [this](PeerCall& call) { finish(call, nullptr, {}); };
  events.left_alone = [this, node](uint64_t until_ns, PeerLink::Trouble trouble,
                                   const std::string& why) {
    leave_alone(node, until_ns, trouble, why);
  };
  events.gifts_gone = [this, node](bool is_sent, uint64_t samples,
                                   uint64_t bytes) {
    (is_sent ? given_ : dropped_) += samples;
    leave_gift_room(node, bytes);
  };
  return events;
}

// head: of the reply; nullptr: no reply.
void PeerClient::finish(PeerCall& call, const PeerHead* head,
                        std::span<const uint8_t> body) {
  std::vector<uint8_t> sample;
  try {
    sample.assign(body.begin(), body.end());
  } catch (const std::bad_alloc&) {
    head = nullptr;
  }
  const std::lock_guard lock(mutex_);
  if (call.is_over) return;
  call.is_over = true;
  if (head == nullptr) ++failed_;
  call.is_there = head != nullptr && head->kind == PeerKind::kSample;
  if (call.is_there) {
    call.sample = std::move(sample);
    call.label = head->label;
  }
  call.over.notify_all();
}

void PeerClient::leave_alone(size_t node, uint64_t until_ns,
                             PeerLink::Trouble trouble,
                             const std::string& why) {
  Peer& peer = peers_[node];
  {
    const std::lock_guard lock(mutex_);
    peer.alone_until_ns = until_ns;
  }
  if (trouble == PeerLink::Trouble::kRefused) ++refused_;
  // No warning for an absent server: it may be about to start, or have ended.
  if (trouble == PeerLink::Trouble::kAbsent || !warn_) return;
  if (std::exchange(peer.has_warned[trouble == PeerLink::Trouble::kRefused],
                    true)) {
    return;
  }
  warn_(why +
        "; storage serves what this node's cache has, until it is asked "
        "again");
}

void PeerClient::wake_once() {
  if (!std::exchange(is_woken_, true)) waker_->wake();
}

bool PeerClient::get(size_t node, uint64_t index, std::vector<uint8_t>& out,
                     int64_t& label) {
  const auto call = std::make_shared<PeerCall>();
  call->index = index;
  std::unique_lock lock(mutex_);
  Peer& peer = peers_[node];
  if (stopping_ || monotonic_ns() < peer.alone_until_ns) return false;
  ++asked_;
  peer.calls.push_back(call);
  wake_once();
  const std::chrono::nanoseconds longest(options_.connect_ns +
                                         options_.answer_ns + kGrace_ns);
  if (!call->over.wait_for(lock, longest, [&] { return call->is_over; })) {
    call->is_over = true;
    ++failed_;
    return false;
  }
  if (!call->is_there) return false;
  ++had_;
  out.swap(call->sample);
  label = call->label;
  return true;
}

void PeerClient::put(size_t node, uint64_t index,
                     std::span<const uint8_t> sample, int64_t label) {
  if (sample.empty() || sample.size() > kMostPeerSampleBytes ||
      !take_gift_room(node, sample.size())) {
    ++dropped_;
    return;
  }
  PeerGift gift{index, label, {}};
  try {
    gift.sample.assign(sample.begin(), sample.end());
  } catch (const std::bad_alloc&) {
    leave_gift_room(node, sample.size());
    ++dropped_;
    return;
  }
  const std::lock_guard lock(mutex_);
  peers_[node].gifts.push_back(std::move(gift));
  wake_once();
}

// One gift of a node may exceed its part: otherwise large samples would never
// be sent.
bool PeerClient::take_gift_room(size_t node, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  uint64_t& own_bytes = peers_[node].gift_bytes;
  const uint64_t part_bytes = kGifts_bytes / peers_.size();
  if ((own_bytes > 0 && own_bytes + bytes > part_bytes) ||
      gift_bytes_ + bytes > kMostGifts_bytes) {
    return false;
  }
  own_bytes += bytes;
  gift_bytes_ += bytes;
  return true;
}

void PeerClient::leave_gift_room(size_t node, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  peers_[node].gift_bytes -= bytes;
  gift_bytes_ -= bytes;
}

CachePeersCounters PeerClient::counters() const {
  return {asked_, had_, failed_, refused_, given_, dropped_};
}

bool PeerClient::is_stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void PeerClient::run() {
  while (!is_stopping()) run_once(UINT64_MAX);
  // Sends the last gifts to nodes that are connected.
  const uint64_t end_ns = monotonic_ns() + options_.answer_ns;
  hand_over();
  const auto is_giving = [](const Peer& peer) {
    return peer.link->is_giving();
  };
  while (std::any_of(peers_.begin(), peers_.end(), is_giving) &&
         monotonic_ns() < end_ns) {
    run_once(end_ns);
  }
}

// Passes new requests and gifts of other threads to the links.
void PeerClient::hand_over() {
  std::vector<std::vector<std::shared_ptr<PeerCall>>> calls(peers_.size());
  std::vector<std::vector<PeerGift>> gifts(peers_.size());
  {
    const std::lock_guard lock(mutex_);
    is_woken_ = false;
    for (size_t i = 0; i < peers_.size(); ++i) {
      calls[i].swap(peers_[i].calls);
      gifts[i].swap(peers_[i].gifts);
    }
  }
  const uint64_t now_ns = monotonic_ns();
  for (size_t i = 0; i < peers_.size(); ++i) {
    if (calls[i].empty() && gifts[i].empty()) continue;
    for (auto& call : calls[i]) peers_[i].link->ask(std::move(call));
    for (auto& gift : gifts[i]) peers_[i].link->give(std::move(gift));
    peers_[i].link->go_on(0, now_ns);
  }
}

// Handles one poll(2), which waits until until_ns at most.
void PeerClient::run_once(uint64_t until_ns) {
  std::vector<pollfd> fds{{waker_->fd(), POLLIN, 0}};
  uint64_t deadline_ns = until_ns;
  for (const Peer& peer : peers_) {
    fds.push_back({peer.link->fd(), peer.link->events(), 0});
    deadline_ns = std::min(deadline_ns, peer.link->deadline_ns());
  }
  (void)::poll(fds.data(), fds.size(), poll_ms(deadline_ns, monotonic_ns()));
  const uint64_t now_ns = monotonic_ns();
  for (size_t i = 0; i < peers_.size(); ++i) {
    PeerLink& link = *peers_[i].link;
    const short found = fds[i + 1].revents;
    if (found != 0 || link.deadline_ns() <= now_ns) link.go_on(found, now_ns);
  }
  if (fds[0].revents == 0) return;
  waker_->clear();
  chores_.names.finish();
  chores_.proofs.finish();
  hand_over();
}

}  // namespace penstock
