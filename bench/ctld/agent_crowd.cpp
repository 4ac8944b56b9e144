#include "bench/ctld/agent_crowd.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>

#include "common/clock.h"

namespace penstock {
namespace {

constexpr double kCpus = 24;
constexpr int kJobsPerNode = 4;
constexpr size_t kMostPerNode = 10;
constexpr double kEntitledCores = 2;
constexpr double kHeartbeats = 3;  // per time-out
constexpr int kSocketsBesideAgents = 64;
constexpr int kLife_s = 60;
// Overdue jobs to start before replies are read again.
constexpr int kCatchUp = 20;

double now_s() { return double(monotonic_ns()) * 1e-9; }

}  // namespace

Result<AgentCrowd> AgentCrowd::create(Settings settings) {
  AgentCrowd crowd(std::move(settings));
  if (Status opened = crowd.open(); !opened) return std::move(opened).error();
  return crowd;
}

Status AgentCrowd::open() {
  random_.seed(settings_.seed);
  credentials_ = std::make_unique<MungeCredentials>(settings_.munge_socket);
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return system_error(errno, "epoll_create1");
  Result<ZmqContext> context =
      ZmqContext::create(settings_.agents + kSocketsBesideAgents);
  if (!context) return std::move(context).error();
  context_ = *std::move(context);
  for (int i = 0; i < settings_.agents; ++i) {
    Result<ZmqSocket> socket =
        ZmqSocket::connect(context_, settings_.endpoint, /*watch=*/false);
    if (!socket) return std::move(socket).error();
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = uint64_t(i);
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket->ready_fd(), &event) !=
        0) {
      return system_error(errno, "epoll_ctl");
    }
    agents_.push_back({*std::move(socket),
                       Sender(fmt::format("node{}", i), random_session())});
  }
  return Done{};
}

bool AgentCrowd::say(Agent& agent, const AgentMessage& message, bool is_event) {
  TypedBody body = body_of(message);
  const Envelope envelope =
      agent.sender.next(std::move(body.type), std::move(body.body), unix_s());
  const double sent_s = now_s();
  Result<std::string> text = pack(envelope);
  if (!text) return false;
  Result<std::string> sealed = credentials_->encode(*text, 0, kLife_s);
  if (!sealed || !agent.socket.send(*sealed)) return false;
  if (is_event) {
    ++figures_.events;
    agent.unanswered[envelope.sequence] = sent_s;
  }
  read_all(agent);  // a send may consume the edge that signals arrived messages
  return true;
}

void AgentCrowd::say_hello(Agent& agent) {
  NodeHello hello;
  hello.cpus = hello.loader_cores = kCpus;
  hello.term = agent.term;
  for (const auto& [id, part] : agent.parts) hello.parts.push_back(part);
  agent.needs_hello = !say(agent, hello, false);
}

JobPart AgentCrowd::random_part(uint64_t id) {
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  };
  JobPart part;
  part.id = id;
  part.uid = 1000;
  part.name = "bench";
  part.ranks = part.shares = 2;
  part.loader_cpu_s_per_sample = between(0.5e-3, 4e-3);
  part.ceiling = between(100, 2000);
  part.entitled_cores = kEntitledCores;
  part.max_cores = kCpus;
  if (!settings_.pools.empty()) {
    part.pool = settings_.pools[random_() % settings_.pools.size()];
    part.storage_bytes_per_sample = between(10e3, 200e3);
  }
  return part;
}

void AgentCrowd::add_part(size_t node, const JobPart& part) {
  agents_[node].parts[part.id] = part;
  nodes_of_job_[part.id].push_back(node);
}

// A quarter of the jobs span two nodes.
void AgentCrowd::start_job() {
  JobPart part = random_part(next_job_++);
  const size_t wanted = random_() % 4 == 0 ? 2 : 1;
  for (int tries = 0; tries < 20; ++tries) {
    const size_t node = random_() % agents_.size();
    Agent& agent = agents_[node];
    if (agent.parts.contains(part.id) || agent.parts.size() >= kMostPerNode) {
      continue;
    }
    add_part(node, part);
    (void)say(agent, JobChanged{kCpus, part}, true);
    if (nodes_of_job_[part.id].size() == wanted) break;
  }
  ++figures_.jobs_started;
}

void AgentCrowd::end_job() {
  if (nodes_of_job_.empty()) return;
  auto ends = nodes_of_job_.lower_bound(random_() % next_job_);
  if (ends == nodes_of_job_.end()) ends = nodes_of_job_.begin();
  for (size_t node : ends->second) {
    agents_[node].parts.erase(ends->first);
    (void)say(agents_[node], JobEnded{kCpus, ends->first}, true);
  }
  nodes_of_job_.erase(ends);
}

// Sends the heartbeats that are due, spread over their period.
void AgentCrowd::beat() {
  const double period_s = settings_.timeout_s / kHeartbeats;
  while (next_beat_s_ <= now_s()) {
    Agent& agent = agents_[next_beat_];
    next_beat_ = (next_beat_ + 1) % agents_.size();
    next_beat_s_ += period_s / double(agents_.size());
    if (agent.needs_hello) {
      say_hello(agent);
    } else {
      (void)say(agent, Heartbeat{kCpus, agent.term, agent.version, 0}, false);
    }
  }
}

Status AgentCrowd::wait_and_read(double until_s) {
  std::array<epoll_event, 256> events;
  const double left_ms = std::clamp((until_s - now_s()) * 1e3, 0.0, 100.0);
  const int ready = ::epoll_wait(epoll_.get(), events.data(),
                                 int(events.size()), int(left_ms));
  if (ready < 0 && errno != EINTR) return system_error(errno, "epoll_wait");
  for (int i = 0; i < ready; ++i) {
    read_all(agents_[events[size_t(i)].data.u64]);
  }
  return Done{};
}

void AgentCrowd::read_all(Agent& agent) {
  while (true) {
    Result<std::string> message = agent.socket.receive();
    if (!message) return;
    take(agent, *message);
  }
}

void AgentCrowd::take(Agent& agent, const std::string& text) {
  Result<Opened> opened = credentials_->decode(text);
  if (!opened || opened->uid != 0) return;
  Result<Envelope> envelope = unpack(opened->payload);
  if (!envelope || !guard_.admit(*envelope, opened->uid, unix_s())) return;
  agent.sender.heard(*envelope);
  Result<ControllerMessage> message =
      read_controller_message(envelope->type, envelope->body);
  if (!message) return;
  if (std::holds_alternative<Resync>(*message)) {
    ++figures_.resyncs;
    return say_hello(agent);
  }
  const auto* grant = std::get_if<NodeGrant>(&*message);
  if (grant == nullptr) return;
  agent.term = grant->term;
  agent.version = grant->version;
  agent.granted.clear();
  for (const JobGrant& job : grant->jobs) agent.granted.insert(job.id);
  figures_.receipt_ms.push_back((unix_s() - grant->decided_unix_s) * 1e3);
  auto& waiting = agent.unanswered;
  const auto answered = waiting.upper_bound(grant->seen_sequence);
  for (auto it = waiting.begin(); it != answered; ++it) {
    figures_.answer_ms.push_back((now_s() - it->second) * 1e3);
  }
  waiting.erase(waiting.begin(), answered);
}

template <class Done>
Status AgentCrowd::run_until(double limit_s, const char* what, Done done) {
  const double deadline_s = now_s() + limit_s;
  while (!done()) {
    if (now_s() > deadline_s) {
      return Error{Code::kUnavailable, 0,
                   fmt::format("not within {:.0f} s: {}", limit_s, what)};
    }
    beat();
    Status read = wait_and_read(now_s() + 0.005);
    if (!read) return read;
  }
  return penstock::Done{};
}

Status AgentCrowd::start(double limit_s) {
  for (size_t node = 0; node < agents_.size(); ++node) {
    while (agents_[node].parts.size() < kJobsPerNode) {
      const JobPart part = random_part(next_job_++);
      add_part(node, part);
      const size_t other = (node + 1) % agents_.size();
      if (random_() % 4 == 0 && agents_[other].parts.size() < kMostPerNode) {
        add_part(other, part);
      }
    }
  }
  next_beat_s_ = now_s();
  size_t next = 0;
  Status granted = run_until(limit_s, "a grant for every node", [&] {
    // A few hellos per turn, so that replies are read in between.
    for (int i = 0; i < 20; ++i, next = (next + 1) % agents_.size()) {
      if (agents_[next].needs_hello) say_hello(agents_[next]);
    }
    return std::all_of(agents_.begin(), agents_.end(),
                       [](const Agent& agent) { return agent.version > 0; });
  });
  figures_ = {};
  return granted;
}

Status AgentCrowd::storm(double seconds) {
  const double begun_s = now_s();
  double next_s = begun_s;
  while (now_s() < begun_s + seconds) {
    for (int i = 0; i < kCatchUp && now_s() >= next_s; ++i) {
      start_job();
      end_job();
      next_s += 1 / settings_.jobs_per_s;
    }
    beat();
    Status read = wait_and_read(next_s);
    if (!read) return read;
  }
  figures_.storm_s += now_s() - begun_s;
  return Done{};
}

// A message that could not be sent while the controller was down is not lost:
// the controller asks for a hello when it hears the node's next message.
Status AgentCrowd::finish(double limit_s) {
  const auto is_granted = [](const Agent& agent) {
    return std::equal(
        agent.granted.begin(), agent.granted.end(), agent.parts.begin(),
        agent.parts.end(),
        [](uint64_t id, const auto& part) { return id == part.first; });
  };
  Status settled = run_until(limit_s, "an answer to every event", [&] {
    return std::all_of(agents_.begin(), agents_.end(), [&](const Agent& agent) {
      return agent.unanswered.empty() && is_granted(agent);
    });
  });
  // A count, not an error.
  for (const Agent& agent : agents_) {
    figures_.lost += agent.unanswered.size();
    if (agent.unanswered.empty() && !is_granted(agent)) ++figures_.lost;
  }
  if (!settled && figures_.lost == 0) return settled;
  return Done{};
}

}  // namespace penstock
