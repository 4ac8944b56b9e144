#include "link/link.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/blocked_thread.h"
#include "common/clock.h"
#include "wire/query.h"

namespace penstock {
namespace {

constexpr long kPoll_ms = 200;
// Messages in one direction before the other has its turn.
constexpr int kAtOnce = 64;
constexpr uint64_t kComplainEvery_ns = 1'000'000'000;
constexpr size_t kMaxComplaints = 100;

}  // namespace

Link::Link(Settings settings)
    : settings_(std::move(settings)), guard_(settings_.limits) {}

Result<std::unique_ptr<Link>> Link::start(Settings settings) {
  std::unique_ptr<Link> link(new Link(std::move(settings)));
  if (Status opened = link->open(); !opened) return std::move(opened).error();
  Result<std::thread> thread =
      start_blocked_thread([it = link.get()] { it->serve(); });
  if (!thread) return std::move(thread).error();
  link->thread_ = *std::move(thread);
  return link;
}

Status Link::open() {
  for (const int error : {ready_.error(), waker_.error()}) {
    if (error != 0) return system_error(error, "eventfd");
  }
  Result<ZmqContext> context = ZmqContext::create();
  if (!context) return std::move(context).error();
  context_ = *std::move(context);
  if (!settings_.bind.empty()) {
    Result<ZmqSocket> socket = ZmqSocket::bind(context_, settings_.bind);
    if (!socket) return std::move(socket).error();
    sockets_.push_back(*std::move(socket));
    bound_port_ = sockets_.back().bound_port();
  }
  for (const std::string& endpoint : settings_.connect) {
    Result<ZmqSocket> socket = ZmqSocket::connect(context_, endpoint);
    if (!socket) return std::move(socket).error();
    sockets_.push_back(*std::move(socket));
  }
  credentials_ = settings_.make_credentials();
  return Done{};
}

Link::~Link() {
  stopping_ = true;
  waker_.wake();
  if (thread_.joinable()) thread_.join();
}

bool Link::queue(Outgoing out) {
  {
    const std::lock_guard lock(mutex_);
    if (outgoing_.size() >= kMaxQueued) return false;
    outgoing_.push_back(std::move(out));
  }
  waker_.wake();
  return true;
}

bool Link::send(const std::string& node, TypedBody body) {
  Outgoing out;
  out.node = node;
  out.body = std::move(body);
  return queue(std::move(out));
}

bool Link::answer(const Arrived& question, TypedBody body) {
  Outgoing out;
  out.node = question.envelope.node;
  out.body = std::move(body);
  out.route = question.route;
  out.reader = question.uid;
  out.newest_version = question.envelope.newest_version;
  return queue(std::move(out));
}

bool Link::send_all(const TypedBody& body) {
  {
    const std::lock_guard lock(mutex_);
    if (outgoing_.size() + sockets_.size() > kMaxQueued) return false;
    for (size_t i = 0; i < sockets_.size(); ++i) {
      Outgoing out;
      out.controller = i;
      out.body = body;
      outgoing_.push_back(std::move(out));
    }
  }
  waker_.wake();
  return true;
}

std::vector<Arrived> Link::take() {
  std::vector<Arrived> taken;
  bool was_full = false;
  {
    const std::lock_guard lock(mutex_);
    ready_.clear();
    was_full = arrived_.size() >= kMaxQueued;
    taken.assign(std::make_move_iterator(arrived_.begin()),
                 std::make_move_iterator(arrived_.end()));
    arrived_.clear();
  }
  // The thread does not poll for messages while the queue is full.
  if (was_full) waker_.wake();
  return taken;
}

std::vector<std::string> Link::take_complaints() {
  const std::lock_guard lock(mutex_);
  return std::exchange(complaints_, {});
}

void Link::arrive(Arrived arrived) {
  const std::lock_guard lock(mutex_);
  arrived_.push_back(std::move(arrived));
  ready_.wake();
}

bool Link::is_full() const {
  const std::lock_guard lock(mutex_);
  return arrived_.size() >= kMaxQueued;
}

// Rate-limited, because a peer must not be able to fill the log.
void Link::complain(const std::string& text) {
  const uint64_t now_ns = monotonic_ns();
  if (now_ns - complained_ns_ < kComplainEvery_ns) {
    ++not_complained_;
    return;
  }
  complained_ns_ = now_ns;
  const std::lock_guard lock(mutex_);
  if (complaints_.size() >= kMaxComplaints) return;
  complaints_.push_back(
      not_complained_ == 0
          ? text
          : fmt::format("{} (and {} more of this kind or another)", text,
                        not_complained_));
  not_complained_ = 0;
  ready_.wake();
}

void Link::serve() {
  while (!stopping_) {
    if (!wait()) {
      complain("the link's sockets fail; restart the daemon");
      return;
    }
    waker_.clear();
    for (size_t i = 0; i < sockets_.size(); ++i) {
      if (sockets_[i].take_connected()) {
        const auto sender = senders_.find(std::to_string(i));
        if (sender != senders_.end()) sender->second.met_anew();
        Arrived connection;
        connection.is_connection = true;
        connection.controller = i;
        arrive(std::move(connection));
      }
      read(i);
    }
    write();
  }
}

// Waits for work or kPoll_ms; false if polling the sockets fails.
bool Link::wait() {
  std::vector<zmq_pollitem_t> items = {{nullptr, waker_.fd(), ZMQ_POLLIN, 0}};
  // While the queue of arrived messages is full, leave new ones with their
  // senders.
  const bool full = is_full();
  for (const ZmqSocket& socket : sockets_) {
    if (!full) items.push_back({socket.get(), 0, ZMQ_POLLIN, 0});
    if (socket.connections() != nullptr) {
      items.push_back({socket.connections(), 0, ZMQ_POLLIN, 0});
    }
  }
  const int ready = zmq_poll(items.data(), int(items.size()), kPoll_ms);
  return ready >= 0 || zmq_errno() == EINTR;
}

void Link::read(size_t index) {
  for (int i = 0; i < kAtOnce && !is_full(); ++i) {
    Result<ZmqSocket::Message> message = sockets_[index].receive();
    if (!message && message.error().code == Code::kUnavailable) {
      return;
    }
    if (!message) {
      complain(message.error().message);
      continue;
    }
    open_message(index, *message);
  }
  waker_.wake();  // there may be more
}

bool Link::is_trusted(uid_t uid) const {
  const auto& trusted = settings_.trusted;
  return std::find(trusted.begin(), trusted.end(), uid) != trusted.end();
}

void Link::open_message(size_t index, const ZmqSocket::Message& message) {
  Result<Opened> opened = credentials_->decode(message.text);
  if (!opened) return complain("a message: " + opened.error().message);
  Result<Envelope> envelope = unpack(opened->payload);
  if (!envelope) return complain("a message: " + envelope.error().message);
  const bool is_bound = !settings_.bind.empty();
  const bool is_question = is_bound && envelope->type == kQueryType;
  if (!is_question && !is_trusted(opened->uid)) {
    return complain(fmt::format(
        "a message of user {}: only root's are believed", opened->uid));
  }
  Result<uint64_t> missed = guard_.admit(*envelope, opened->uid, unix_s());
  if (!missed) return complain(missed.error().message);
  Arrived arrived;
  arrived.controller = index;
  arrived.missed = *missed;
  arrived.uid = opened->uid;
  if (is_question) {
    // A question's node is only the client's host: keep the agent's route.
    arrived.route = message.route;
  } else {
    const std::string peer = is_bound ? envelope->node : std::to_string(index);
    if (is_bound) routes_[peer] = message.route;
    const auto sender = senders_.find(peer);
    if (sender != senders_.end()) sender->second.heard(*envelope);
  }
  arrived.envelope = *std::move(envelope);
  arrive(std::move(arrived));
}

void Link::write() {
  for (int i = 0; i < kAtOnce; ++i) {
    Outgoing next;
    {
      const std::lock_guard lock(mutex_);
      if (outgoing_.empty()) return;
      next = std::move(outgoing_.front());
      outgoing_.pop_front();
    }
    Status sent = next.route.empty() ? seal_and_send(next) : seal_answer(next);
    // A client that has given up is no error worth logging.
    if (!sent && next.route.empty()) {
      complain(fmt::format("to {}: {}",
                           settings_.bind.empty()
                               ? settings_.connect[next.controller]
                               : next.node,
                           sent.error().message));
    }
  }
  waker_.wake();  // there may be more
}

Status Link::seal_and_send(Outgoing& out) {
  const bool is_bound = !settings_.bind.empty();
  const std::string peer = is_bound ? out.node : std::to_string(out.controller);
  // Number the message before any step can fail, so that the receiver notices
  // the gap.
  Sender& sender = senders_.try_emplace(peer, settings_.node, random_session())
                       .first->second;
  Result<std::string> text = pack(sender.next(
      std::move(out.body.type), std::move(out.body.body), unix_s()));
  if (!text) return std::move(text).error();
  std::string route;
  if (is_bound) {
    const auto found = routes_.find(out.node);
    if (found == routes_.end()) {
      return Error{Code::kUnavailable, 0, "it has sent no message yet"};
    }
    route = found->second;
  }
  Result<std::string> sealed =
      credentials_->encode(*text, settings_.trusted.front(), kMessageLife_s);
  if (!sealed) return std::move(sealed).error();
  return sockets_[out.controller].send(route, *sealed);
}

Status Link::seal_answer(Outgoing& out) {
  // A session of its own per answer: the client needs no order of numbers.
  Sender sender(settings_.node, random_session());
  Envelope envelope =
      sender.next(std::move(out.body.type), std::move(out.body.body), unix_s());
  envelope.version = common_version(out.newest_version);
  Result<std::string> text = pack(envelope);
  if (!text) return std::move(text).error();
  Result<std::string> sealed =
      credentials_->encode(*text, out.reader, kMessageLife_s);
  if (!sealed) return std::move(sealed).error();
  return sockets_.front().send(out.route, *sealed);
}

}  // namespace penstock
