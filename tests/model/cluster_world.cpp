#include "tests/model/cluster_world.h"

#include <algorithm>

#include "tests/model/cluster_liar.h"

namespace penstock::model {
namespace {

constexpr size_t kPlaces = 3;
constexpr size_t kHonest = 4;
constexpr size_t kHostile = 3;  // names of one machine
constexpr size_t kInFlight = 200;
constexpr size_t kRecorded = 64;
// Sessions that a controller's guard may remember at once.
constexpr size_t kMostSessions = 100;
constexpr uint64_t kStepsToSettle = 2000;
// More than every place's turn to begin a first term.
constexpr double kQuiet_s = 8 * kTimeout_s;

// Ranks that count for the pool. A job that any of its nodes puts there counts
// as a whole.
double shares_of_readers(const ClusterPlan& plan) {
  std::map<uint64_t, double> shares;
  std::set<uint64_t> reading;
  for (int node = 0; node < plan.node_count(); ++node) {
    for (const auto& [id, part] : plan.node(node).parts) {
      shares[id] += part.shares;
      if (part.pool == "net") reading.insert(id);
    }
  }
  double sum = 0;
  for (uint64_t id : reading) sum += shares[id];
  return sum;
}

std::vector<PoolConfig> pools() {
  PoolConfig pool;
  pool.name = "net";
  pool.path = "/net";
  pool.bandwidth_bytes_per_s = uint64_t(kBandwidth);
  return {pool};
}

}  // namespace

ClusterWorld::ClusterWorld(Trial& trial) : trial_(trial), places_(kPlaces) {
  for (size_t i = 0; i < kHonest + kHostile; ++i) {
    const bool honest = i < kHonest;
    Station station;
    station.name = (honest ? "n" : "evil") + std::to_string(i);
    if (honest) {
      station.agent =
          std::make_unique<ClusterAgent>(trial_, station.name, now_s_);
    }
    station.sequence.assign(kPlaces, 0);
    station.is_linked.assign(kPlaces, true);
    stations_.push_back(std::move(station));
  }
  for (Place& place : places_) start(place);
}

void ClusterWorld::run() {
  for (uint64_t next = kStepsToSettle; trial_.step() < trial_.steps();) {
    step();
    if (trial_.step() < next) continue;
    settle();
    next = trial_.step() + kStepsToSettle;
  }
}

void ClusterWorld::step() {
  trial_.begin_step();
  disturb();
  deliver_some();
  pass(trial_.one_in(200)  ? trial_.between(kTimeout_s, 4 * kTimeout_s)
       : trial_.one_in(10) ? trial_.between(0.1, 3)
                           : trial_.between(0, 0.1));
}

void ClusterWorld::disturb() {
  const size_t index = trial_.below(stations_.size());
  Station& station = stations_[index];
  const size_t at = trial_.below(kPlaces);
  Place& place = places_[at];
  if (station.agent == nullptr) {
    lie(index);
  } else if (trial_.one_in(3)) {
    station.agent->change_jobs();
    trial_.did("{} changes its jobs", station.name);
    send_all(index, station.agent->report());
  } else if (trial_.one_in(60)) {
    restart_agent(station);
  }
  if (trial_.one_in(30)) {
    station.overflows = trial_.below(4);
    trial_.did("the queue of {} is full for {} messages", station.name,
               station.overflows);
  }
  if (trial_.one_in(50)) flip_link(index, at);
  if (trial_.one_in(200)) fail_over(place);
  if (!place.controller && trial_.one_in(30)) start(place);
  if (trial_.one_in(500)) {
    station.ahead_s += trial_.between(0, 3 * kTimeout_s);
    place.ahead_s += trial_.between(0, 3 * kTimeout_s);
    place.unix_ahead_s = trial_.between(-200, 200);
    trial_.did("clocks of {} and controller {} step", station.name, at);
  }
  if (trial_.one_in(10)) replay();
}

void ClusterWorld::pass(double seconds) {
  now_s_ += seconds;
  for (size_t i = 0; i < kHonest; ++i) {
    Station& station = stations_[i];
    send_all(i, station.agent->on_timer(now_s(station)));
  }
  for (size_t i = 0; i < kPlaces; ++i) tick(i);
  check_sizes();
}

// All links and controllers work; the hostile nodes go on.
void ClusterWorld::settle() {
  trial_.did("all that is broken is mended");
  for (Place& place : places_) {
    place.unix_ahead_s = 0;
    if (!place.controller) start(place);
  }
  for (size_t i = 0; i < stations_.size(); ++i) {
    for (size_t at = 0; at < kPlaces; ++at) {
      if (!stations_[i].is_linked[at]) flip_link(i, at);
    }
  }
  is_quiet_ = true;
  // A term that has just begun reaches the nodes within the last time-out.
  std::string why_not = "not looked yet";
  for (const double begun_s = now_s_; !why_not.empty();) {
    trial_.begin_step();
    lie(kHonest + trial_.below(kHostile));
    for (const Packet& packet : std::exchange(network_, {})) deliver(packet);
    pass(0.5);
    if (now_s_ < begun_s + kQuiet_s) continue;
    why_not = why_not_settled();
    trial_.must(why_not.empty() || now_s_ < begun_s + kQuiet_s + kTimeout_s,
                "not settled: {}", why_not);
  }
  is_quiet_ = false;
}

// --- Actors

void ClusterWorld::restart_agent(Station& station) {
  const bool forgets = trial_.one_in(4);
  trial_.did("{} restarts{}", station.name, forgets ? ", its term reset" : "");
  station.agent->restart(now_s(station), forgets);
  ++station.session;
  station.sequence.assign(kPlaces, 0);
  const size_t index = size_t(&station - stations_.data());
  // Its connections end, and with them what was sent to it.
  std::erase_if(network_,
                [&](const Packet& it) { return it.station == index; });
  std::erase_if(recorded_,
                [&](const Packet& it) { return it.station == index; });
  send_all(index, station.agent->report());
  send(index, station.agent->hello(now_s(station)));
}

void ClusterWorld::flip_link(size_t index, size_t at) {
  Station& station = stations_[index];
  station.is_linked[at] = !station.is_linked[at];
  trial_.did("link of {} and controller {}: {}", station.name, at,
             station.is_linked[at] ? "up" : "down");
  if (station.agent != nullptr && station.is_linked[at]) {
    send(index, station.agent->hello(now_s(station)));
  }
}

void ClusterWorld::start(Place& place) {
  const auto index = unsigned(&place - places_.data());
  trial_.did("controller {} starts with term {}", index, place.saved_term);
  place.guard = Guard();
  place.heard_s.clear();
  Controller::Settings settings;
  settings.place = index;
  settings.timeout_s = kTimeout_s;
  settings.own_term = place.saved_term;
  const std::vector<Policy> policies = {Policy::kThroughput, Policy::kFair,
                                        Policy::kMaxMin, Policy::kEven};
  place.controller.emplace(settings, pools(), trial_.one_of(policies));
  if (trial_.one_in(2)) {
    for (const Station& station : stations_) {
      place.controller->set_slurm_cpus(station.name, ClusterAgent::kCpus);
    }
  }
  for (size_t i = 0; i < kHonest; ++i) {
    send(i, stations_[i].agent->hello(now_s(stations_[i])));
  }
}

void ClusterWorld::fail_over(Place& place) {
  if (!place.controller) return;
  trial_.did("controller {} ends", &place - places_.data());
  place.controller.reset();
}

void ClusterWorld::lie(size_t index) {
  Station& station = stations_[index];
  if (trial_.one_in(20)) {
    ++station.session;
    station.sequence.assign(kPlaces, 0);
  }
  if (const auto message = random_lie(trial_, highest_term_)) {
    trial_.did("{} sends {}", station.name, body_of(*message).body.dump());
    send(index, *message);
  }
}

// --- Network

void ClusterWorld::send(size_t index, const AgentMessage& message) {
  Station& station = stations_[index];
  for (size_t at = 0; at < kPlaces; ++at) {
    Packet packet{index, at, {}, message};
    packet.envelope.node = station.name;
    packet.envelope.session = station.session;
    packet.envelope.sequence = ++station.sequence[at];
    packet.envelope.sent_unix_s = now_s_;
    if (station.overflows == 0) enqueue(std::move(packet));
  }
  if (station.overflows > 0) --station.overflows;
}

void ClusterWorld::send_all(size_t index,
                            const std::vector<AgentMessage>& messages) {
  for (const AgentMessage& message : messages) send(index, message);
}

void ClusterWorld::enqueue(Packet packet) {
  if (!stations_[packet.station].is_linked[packet.place]) return;
  if (network_.size() >= kInFlight) {
    network_.erase(network_.begin() + long(trial_.below(network_.size())));
  }
  network_.push_back(std::move(packet));
}

// A few messages: mostly the oldest, else any; some twice, some never.
void ClusterWorld::deliver_some() {
  for (uint64_t left = trial_.below(12); left > 0 && !network_.empty();
       --left) {
    const size_t at = trial_.one_in(4) ? trial_.below(network_.size()) : 0;
    Packet packet = network_[at];
    if (trial_.one_in(50)) {
      network_.push_back(packet);
    }
    network_.erase(network_.begin() + long(at));
    if (trial_.one_in(50)) {
      trial_.did("a message of {} and controller {} is lost",
                 stations_[packet.station].name, packet.place);
      continue;
    }
    deliver(packet);
    if (recorded_.size() >= kRecorded) recorded_.erase(recorded_.begin());
    recorded_.push_back(std::move(packet));
  }
}

void ClusterWorld::replay() {
  if (recorded_.empty()) return;
  const Packet packet = trial_.one_of(recorded_);
  trial_.did("an old message of {} and controller {} comes again",
             stations_[packet.station].name, packet.place);
  deliver(packet);
}

void ClusterWorld::deliver(const Packet& packet) {
  Station& station = stations_[packet.station];
  if (const auto* sent = std::get_if<ControllerMessage>(&packet.message)) {
    if (station.agent == nullptr) return;
    send_all(packet.station, station.agent->take(*sent, now_s(station)));
    return;
  }
  Place& place = places_[packet.place];
  if (!place.controller) return;
  const Result<uint64_t> missed =
      place.guard.admit(packet.envelope, 0, now_s_ + place.unix_ahead_s);
  if (!missed) return;
  const uint64_t before = place.controller->term();
  place.controller->on_message(
      {station.name, packet.envelope.session, packet.envelope.sequence, *missed,
       std::get<AgentMessage>(packet.message)},
      now_s(place));
  const auto& message = std::get<AgentMessage>(packet.message);
  const bool tells_term = !std::holds_alternative<JobChanged>(message) &&
                          !std::holds_alternative<JobEnded>(message);
  if (tells_term && place.controller->plan().find_node(station.name)) {
    place.heard_s[station.name] = now_s(place);
  }
  mind_term(place, packet.place, before);
}

// --- Controllers

void ClusterWorld::tick(size_t index) {
  Place& place = places_[index];
  if (!place.controller) return;
  Controller& controller = *place.controller;
  const uint64_t before = controller.term();
  controller.on_tick(now_s(place), now_s_);
  mind_term(place, index, before);
  for (const ToAgent& out : controller.take_outgoing()) {
    if (const auto* grant = std::get_if<NodeGrant>(&out.message)) {
      check_grant(controller, *grant, out.node);
    }
    const auto station =
        std::find_if(stations_.begin(), stations_.end(),
                     [&](const Station& it) { return it.name == out.node; });
    enqueue({size_t(station - stations_.begin()), index, {}, out.message});
  }
  for (const Remark& remark : controller.take_remarks()) {
    trial_.did("controller {}: {}", index, remark.text);
  }
  (void)controller.take_events();
}

// As service.cpp: a term is saved before its first grant is sent, or given up.
void ClusterWorld::mind_term(Place& place, size_t index, uint64_t before) {
  const uint64_t term = place.controller->term();
  if (term == before || term == 0) return;
  trial_.must(term > place.saved_term,
              "controller {} begins term {} after its term {}", index, term,
              place.saved_term);
  if (most_are_honest(place)) {
    trial_.must(term <= highest_term_ + Terms::kMaxStep + Terms::kPlaces,
                "controller {} jumps to term {}; {} was the highest", index,
                term, highest_term_);
  }
  highest_term_ = std::max(highest_term_, term);
  if (!is_quiet_ && trial_.one_in(10)) {
    trial_.did("controller {}: its disk is full", index);
    place.controller->step_down(now_s(place));
    (void)place.controller->take_outgoing();
    return;
  }
  const auto [holder, is_new] = place_of_term_.emplace(term, index);
  trial_.must(is_new, "controller {} begins term {}, which {} had", index, term,
              holder->second);
  place.saved_term = term;
}

bool ClusterWorld::most_are_honest(const Place& place) const {
  size_t honest = 0, hostile = 0;
  for (size_t i = 0; i < stations_.size(); ++i) {
    const auto heard = place.heard_s.find(stations_[i].name);
    if (heard == place.heard_s.end()) continue;
    // Hostile votes count for longer here: a bound without doubt.
    const double age_s = now_s(place) - heard->second;
    if (i < kHonest && age_s <= kTimeout_s) ++honest;
    if (i >= kHonest && age_s <= kTimeout_s) ++hostile;
  }
  return honest >= hostile;
}

// The floor of each job that a hostile node has no part of: what its cores and
// its share of the pool allow.
void ClusterWorld::check_grant(const Controller& controller,
                               const NodeGrant& grant,
                               const std::string& node) {
  constexpr double kRounding = 1e-6;
  const ClusterPlan& plan = controller.plan();
  trial_.must(grant.term == controller.term() && grant.term != 0,
              "a grant of term {} from a controller of term {}", grant.term,
              controller.term());
  const double readers = shares_of_readers(plan);
  for (const JobGrant& job : grant.jobs) {
    trial_.must(job.rate == 0 || job.rate >= job.floor,
                "{}, job {}: rate {} is under its floor {}", node, job.id,
                job.rate, job.floor);
    double ceiling = 0, cores = 1e300, bytes = 0, shares = 0;
    double most = 1e300;
    bool is_known = true;
    for (int at : plan.nodes_of(job.id)) {
      const JobPart& part = plan.node(at).parts.at(job.id);
      is_known = is_known && !part.in_cores &&
                 plan.node(at).name.starts_with("n") && part.pool == "net";
      ceiling = std::max(ceiling, part.ceiling);
      cores = std::min(cores, part.entitled_cores /
                                  (part.ranks * part.loader_cpu_s_per_sample));
      const double per_rate = part.ranks * part.storage_bytes_per_sample;
      bytes += per_rate;
      shares += part.shares;
      if (part.max_bytes_per_s > 0 && per_rate > 0) {
        most = std::min(most, part.max_bytes_per_s / per_rate);
      }
      most = std::min(
          most, part.max_cores / (part.ranks * part.loader_cpu_s_per_sample));
    }
    if (!is_known) continue;
    const double of_pool =
        bytes > 0 ? kBandwidth * shares / readers / bytes : 1e300;
    const double floor = std::min({ceiling, cores, most, of_pool});
    trial_.must(job.floor >= floor * (1 - kRounding),
                "{}, job {}: its floor is {}; its own cores and bandwidth "
                "allow {}",
                node, job.id, job.floor, floor);
  }
}

// Fewer than half of the nodes cannot keep the others without a controller.
// "": they all have the grants of one.
std::string ClusterWorld::why_not_settled() const {
  const auto is_active = [](const Place& place) {
    return place.controller->is_active();
  };
  const auto active = std::count_if(places_.begin(), places_.end(), is_active);
  if (active != 1) return fmt::format("{} controllers are active", active);
  const Controller& controller =
      *std::find_if(places_.begin(), places_.end(), is_active)->controller;
  double bytes_per_s = 0;
  for (size_t i = 0; i < kHonest; ++i) {
    const ClusterAgent& agent = *stations_[i].agent;
    const ClusterGrant& grant = agent.grant();
    if (!grant.is_in_force() || grant.term() != controller.term()) {
      return fmt::format("{}: term {}, in force: {}; the controller has {}",
                         agent.name(), grant.term(), grant.is_in_force(),
                         controller.term());
    }
    const auto node = controller.plan().find_node(agent.name());
    if (!node) return agent.name() + " is unknown to the controller";
    std::set<uint64_t> known, jobs;
    for (const auto& [id, part] : controller.plan().node(*node).parts) {
      known.insert(id);
    }
    for (const PlanJob& job : agent.input().jobs) jobs.insert(job.id);
    if (known != jobs) {
      return fmt::format("{}: the controller knows jobs {}; it has {}",
                         agent.name(), fmt::join(known, ","),
                         fmt::join(jobs, ","));
    }
    if (grant.pool("net") == nullptr) return agent.name() + " has no pool";
    bytes_per_s += grant.pool("net")->bytes_per_s;
  }
  if (bytes_per_s <= kBandwidth * (1 + 2 * Controller::kOverTold)) return "";
  return fmt::format("{} bytes/s of {} are granted", bytes_per_s, kBandwidth);
}

void ClusterWorld::check_sizes() {
  for (const Place& place : places_) {
    if (!place.controller) continue;
    const ClusterPlan& plan = place.controller->plan();
    trial_.must(size_t(plan.node_count()) <= stations_.size(), "{} nodes of {}",
                plan.node_count(), stations_.size());
    size_t parts = 0;
    for (int node = 0; node < plan.node_count(); ++node) {
      parts += plan.node(node).parts.size();
    }
    trial_.must(plan.job_count() <= parts, "{} jobs of {} parts",
                plan.job_count(), parts);
    trial_.must(place.guard.sessions() <= kMostSessions, "{} sessions",
                place.guard.sessions());
  }
}

}  // namespace penstock::model
