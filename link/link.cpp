// A Link's thread and queues. link_messages.cpp seals and opens messages.
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
// Time for one direction before the other has its turn.
constexpr uint64_t kTurn_ns = 10'000'000;
constexpr uint64_t kComplainEvery_ns = 1'000'000'000;
constexpr size_t kMaxComplaints = 100;

Guard::Limits limits_of(const Link::Settings& settings) {
  Guard::Limits limits = settings.limits;
  limits.daemons = settings.trust.users();
  return limits;
}

}  // namespace

Link::Link(Settings settings)
    : settings_(std::move(settings)), guard_(limits_of(settings_)) {}

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
  if (settings_.listen) {
    Result<Listener> listener = Listener::listen(*settings_.listen);
    if (!listener) return std::move(listener).error();
    listener_ = *std::move(listener);
    port_ = listener_->port();
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

bool Link::send(const std::string& node, TypedBody body) {
  Outgoing out;
  out.node = node;
  out.body = std::move(body);
  {
    const std::lock_guard lock(mutex_);
    if (outgoing_.size() >= kMaxQueued) return false;
    outgoing_.push_back(std::move(out));
  }
  waker_.wake();
  return true;
}

bool Link::answer(const Arrived& question, TypedBody body) {
  Outgoing out;
  out.node = question.envelope.node;
  out.body = std::move(body);
  out.route = question.route;
  out.reader = question.uid;
  out.newest_version = question.envelope.newest_version;
  {
    const std::lock_guard lock(mutex_);
    if (answers_.size() >= kMaxAnswers) return false;
    answers_.push_back(std::move(out));
  }
  waker_.wake();
  return true;
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

bool Link::send_to(size_t controller, TypedBody body) {
  {
    const std::lock_guard lock(mutex_);
    if (outgoing_.size() >= kMaxQueued) return false;
    Outgoing out;
    out.controller = controller;
    out.body = std::move(body);
    outgoing_.push_back(std::move(out));
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
    std::move(questions_.begin(), questions_.end(), std::back_inserter(taken));
    questions_.clear();
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
  if (arrived.is_question && questions_.size() >= kMaxQuestions) return;
  (arrived.is_question ? questions_ : arrived_).push_back(std::move(arrived));
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
      if (sockets_[i].take_connected()) note_connection(i);
      read(sockets_[i], [&](const std::string& message) {
        take_from_controller(i, message);
      });
    }
    if (listener_) {
      read(*listener_,
           [&](const Listener::Message& message) { take_from_peer(message); });
    }
    write();
  }
}

void Link::note_connection(size_t index) {
  const auto sender = senders_.find(std::to_string(index));
  if (sender != senders_.end()) sender->second.met_anew();
  Arrived connection;
  connection.is_connection = true;
  connection.controller = index;
  arrive(std::move(connection));
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
  if (listener_ && !full) {
    items.push_back({nullptr, listener_->ready_fd(), ZMQ_POLLIN, 0});
  }
  const int ready = zmq_poll(items.data(), int(items.size()), kPoll_ms);
  return ready >= 0 || zmq_errno() == EINTR;
}

template <class End, class Take>
void Link::read(End& end, Take take) {
  const uint64_t until_ns = monotonic_ns() + kTurn_ns;
  while (!is_full() && monotonic_ns() < until_ns) {
    auto message = end.receive();
    if (!message && message.error().code == Code::kUnavailable) return;
    if (message) {
      take(*message);
    } else {
      complain(message.error().message);
    }
  }
  waker_.wake();  // there may be more
}

std::optional<Link::Outgoing> Link::next_outgoing() {
  const std::lock_guard lock(mutex_);
  std::deque<Outgoing>& queue = outgoing_.empty() ? answers_ : outgoing_;
  if (queue.empty()) return std::nullopt;
  Outgoing next = std::move(queue.front());
  queue.pop_front();
  return next;
}

void Link::write() {
  const uint64_t until_ns = monotonic_ns() + kTurn_ns;
  while (monotonic_ns() < until_ns) {
    std::optional<Outgoing> next = next_outgoing();
    if (!next) return;
    Status sent = next->route == 0 ? seal_and_send(*next) : seal_answer(*next);
    // A client that has given up is no error worth logging.
    if (!sent && next->route == 0) {
      complain(fmt::format(
          "to {}: {}",
          listener_ ? next->node : settings_.connect[next->controller],
          sent.error().message));
    }
  }
  waker_.wake();  // there may be more
}

}  // namespace penstock
