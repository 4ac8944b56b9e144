// Random agents: for any of their messages grants keep capacities and floors,
// versions rise, and the state depends on the latest reports only.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "select_ext/ctld/controller.h"
#include "tests/unit/catch.h"
#include "tests/unit/wire/agents.h"

using namespace penstock;

namespace {

constexpr double kBandwidth = 5000;
// Sums of rounding errors.
constexpr double kRounding = 1e-6;

uint64_t test_seed() {
  const char* given = std::getenv("PENSTOCK_TEST_SEED");
  return given ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

struct Node {
  std::string name;
  double cpus = 0;
  double loader_cores = 0;  // at least what its jobs are entitled to
  uint64_t sequence = 0;
  uint64_t session = 1;
  std::map<uint64_t, JobPart> parts;
  std::optional<NodeGrant> granted;

  double entitled() const {
    double sum = 0;
    for (const auto& [id, part] : parts) sum += part.entitled_cores;
    return sum;
  }
  NodeHello hello(uint64_t term) const {
    NodeHello hello = hello_of(cpus, {});
    hello.term = term;
    hello.loader_cores = loader_cores;
    for (const auto& [id, part] : parts) hello.parts.push_back(part);
    return hello;
  }
};

class RandomCluster {
 public:
  RandomCluster(uint64_t seed, Policy policy)
      : random_(seed), policy_(policy), controller_(fresh()) {
    for (int i = 0; i < 6; ++i) {
      const double cpus = double(1 + random_() % 8);
      nodes_.push_back({fmt::format("n{}", i), cpus, cpus});
    }
    for (Node& node : nodes_) say(node, node.hello(0));
    pass(1.5);
  }

  // Sends one random message of an agent.
  void step() {
    Node& node = nodes_[random_() % nodes_.size()];
    switch (random_() % 8) {
      case 0:
      case 1:
      case 2:
        return change_job(node, 1 + random_() % 12);
      case 3:
      case 4:
        return end_job(node);
      case 5:
        return say(node,
                   Heartbeat{node.loader_cores, term(),
                             node.granted ? node.granted->version : 0, 0});
      case 6:
        ++node.session;
        node.sequence = 0;
        return say(node, node.hello(term()));
      default:
        return pass(0.2);
    }
  }

  void pass(double seconds) {
    for (const double end_s = now_s_ + seconds; now_s_ < end_s;
         now_s_ += 0.02) {
      controller_.on_tick(now_s_, now_s_);
      for (ToAgent& out : controller_.take_outgoing()) take(out);
      for (const Remark& remark : controller_.take_remarks()) {
        if (remark.is_warning) FAIL(remark.text);
      }
      check_pools();
    }
  }

  void check_rates() const {
    const ClusterPlan& plan = controller_.plan();
    for (const Node& node : nodes_) {
      const int index = *plan.find_node(node.name);
      CHECK(plan.node(index).parts == node.parts);
      double cores = 0;
      for (const auto& [id, part] : node.parts) {
        const auto rate = plan.rate(id);
        REQUIRE(rate.has_value());
        CHECK(rate->rate >= rate->floor * (1 - kRounding));
        cores += part.ranks * part.loader_cpu_s_per_sample * rate->rate;
      }
      // CPUs that no loader may use are taken by a job of their own, so the
      // solver's rounding is that of the whole node: a job may get 1e-11 cores
      // where none is left.
      CHECK(cores <=
            std::max(node.loader_cores, node.entitled()) + 1e-9 * node.cpus);
    }
  }

  // The state equals that of a new controller that gets only the current parts.
  void check_against_fresh() {
    Controller other = fresh();
    for (const Node& node : nodes_) {
      other.on_message({node.name, 1, 1, 0, node.hello(0)}, now_s_);
    }
    other.on_tick(now_s_, now_s_);
    other.on_tick(now_s_ + 1.1, now_s_);
    const ClusterPlan& ours = controller_.plan();
    const ClusterPlan& theirs = other.plan();
    CHECK(ours.job_count() == theirs.job_count());
    for (const Node& node : nodes_) {
      const int index = *ours.find_node(node.name);
      const int other_index = *theirs.find_node(node.name);
      CHECK(ours.node(index).parts == theirs.node(other_index).parts);
      CHECK(ours.node(index).loader_cores ==
            theirs.node(other_index).loader_cores);
      for (const auto& [id, part] : node.parts) {
        CHECK(ours.rate(id)->floor ==
              Approx(theirs.rate(id)->floor).epsilon(kRounding));
      }
    }
    CHECK(ours.all_shares(0) == Approx(theirs.all_shares(0)));
    // There may be several optima; their objective values must agree.
    if (ours.gap()) CHECK(*ours.gap() <= 1e-3);
    if (theirs.gap()) CHECK(*theirs.gap() <= 1e-3);
  }

 private:
  Controller fresh() const {
    return Controller({}, {pool_of("net", uint64_t(kBandwidth))}, policy_);
  }
  uint64_t term() const { return controller_.term(); }

  void say(Node& node, AgentMessage message) {
    controller_.on_message(
        {node.name, node.session, ++node.sequence, 0, std::move(message)},
        now_s_);
  }

  void change_job(Node& node, uint64_t id) {
    const double left =
        node.cpus - node.entitled() +
        (node.parts.contains(id) ? node.parts[id].entitled_cores : 0);
    JobPart part = part_of(id, 100 + double(random_() % 9000),
                           left * double(random_() % 100) / 100);
    part.ranks = part.shares = double(1 + random_() % 4);
    part.loader_cpu_s_per_sample = 1e-4 * double(1 + random_() % 20);
    if (random_() % 2 == 0) {
      part = reading(part, "net", double(1 + random_() % 10));
    }
    part.pool_pressed = random_() % 8 == 0;
    node.parts[id] = part;
    const double entitled = node.entitled();
    node.loader_cores =
        std::min(node.cpus,
                 entitled + (node.cpus - entitled) * double(random_() % 4) / 3);
    say(node, JobChanged{node.loader_cores, part});
  }

  void end_job(Node& node) {
    if (node.parts.empty()) return;
    const auto ends =
        std::next(node.parts.begin(), long(random_() % node.parts.size()));
    const uint64_t id = ends->first;
    node.parts.erase(ends);
    say(node, JobEnded{node.loader_cores, id, {}});
  }

  void take(const ToAgent& out) {
    const auto* grant = std::get_if<NodeGrant>(&out.message);
    if (grant == nullptr) {
      CHECK_FALSE(std::holds_alternative<Resync>(out.message));
      return;
    }
    for (Node& node : nodes_) {
      if (node.name != out.node) continue;
      if (node.granted) CHECK(grant->version > node.granted->version);
      CHECK(grant->term == term());
      CHECK(grant->seen_sequence <= node.sequence);
      for (const JobGrant& job : grant->jobs) {
        if (job.rate > 0) CHECK(job.rate >= job.floor);
      }
      node.granted = *grant;
    }
  }

  // Sum of the latest grants, at any time; so few nodes get theirs at once.
  void check_pools() const {
    double sum = 0;
    for (const Node& node : nodes_) {
      if (node.granted) sum += node.granted->pools.at(0).bytes_per_s;
    }
    CHECK(sum <= kBandwidth * (1 + kRounding));
  }

  std::mt19937_64 random_;
  Policy policy_;
  Controller controller_;
  std::vector<Node> nodes_;
  double now_s_ = 0;
};

}  // namespace

TEST_CASE(
    "capacities and floors hold in every grant for random messages of agents") {
  const uint64_t seed = test_seed();
  INFO("PENSTOCK_TEST_SEED=" << seed);
  for (Policy policy : {Policy::kThroughput, Policy::kFair, Policy::kMaxMin}) {
    for (uint64_t round = 0; round < 8; ++round) {
      RandomCluster cluster(seed + round, policy);
      for (int i = 0; i < 150; ++i) cluster.step();
      cluster.pass(1);
      cluster.check_rates();
      cluster.check_against_fresh();
    }
  }
}
