#include "select_ext/ctld/controller.h"

#include "select_ext/ctld/pool_shares.h"
#include "tests/unit/catch.h"
#include "tests/unit/wire/agents.h"

using namespace penstock;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr double kUnix_s = 1.78e9;

// A controller and the agents of a small cluster, on a simulated clock.
struct Cluster {
  explicit Cluster(std::vector<PoolConfig> pools = {},
                   Controller::Settings settings = {})
      : controller(settings, pools, Policy::kThroughput) {}

  void say(const std::string& node, AgentMessage message, uint64_t missed = 0) {
    sequences[node] += 1 + missed;
    controller.on_message(
        {node, sessions[node] + 1, sequences[node], missed, std::move(message)},
        now_s);
  }

  // Passes time and collects what is sent.
  void pass(double seconds) {
    for (const double end_s = now_s + seconds; now_s < end_s; now_s += 0.02) {
      controller.on_tick(now_s, kUnix_s + now_s);
      for (ToAgent& out : controller.take_outgoing()) {
        if (auto* grant = std::get_if<NodeGrant>(&out.message)) {
          ++grants[out.node];
          last[out.node] = *grant;
        } else if (std::holds_alternative<Resync>(out.message)) {
          ++resyncs[out.node];
        } else {
          ++beats[out.node];
        }
      }
      for (const Remark& remark : controller.take_remarks()) {
        remarks += remark.text + "\n";
      }
      for (ClusterEvent& event : controller.take_events()) {
        events.push_back(std::move(event));
      }
    }
  }

  double rate_of(const std::string& node, uint64_t job) {
    for (const JobGrant& grant : last[node].jobs) {
      if (grant.id == job) return grant.rate;
    }
    return -1;
  }

  Controller controller;
  double now_s = 1000;
  std::map<std::string, uint64_t> sequences;
  std::map<std::string, uint64_t> sessions;
  std::map<std::string, int> grants, resyncs, beats;
  std::map<std::string, NodeGrant> last;
  std::string remarks;
  std::vector<ClusterEvent> events;
};

// Job 1 spans both nodes; job 2 is its neighbour on the first one.
Cluster two_nodes() {
  Cluster cluster;
  cluster.say("n1", hello_of(8, {part_of(1, 5000, 4), part_of(2, 9000, 4)}));
  cluster.say("n2", hello_of(1, {part_of(1, 5000, 1)}));
  cluster.pass(2);
  return cluster;
}

}  // namespace

TEST_CASE("agents that connect are granted the slow rank's rate") {
  Cluster cluster = two_nodes();
  CHECK(cluster.controller.is_active());
  CHECK(cluster.last["n1"].term == cluster.controller.term());
  CHECK(cluster.rate_of("n1", 1) == Approx(1000).epsilon(1e-3));
  CHECK(cluster.rate_of("n2", 1) == Approx(1000).epsilon(1e-3));
  // A job of one node gets its rate from its node.
  CHECK(cluster.rate_of("n1", 2) == 0);
  CHECK(cluster.last["n1"].seen_sequence == 1);
  CHECK(cluster.last["n1"].decided_unix_s > kUnix_s);
}

TEST_CASE("every change of a node is answered with the next version") {
  Cluster cluster = two_nodes();
  const uint64_t version = cluster.last["n2"].version;
  cluster.say("n2", JobChanged{1, part_of(3, 10, 0)});
  cluster.pass(0.2);
  CHECK(cluster.last["n2"].version == version + 1);
  CHECK(cluster.last["n2"].seen_sequence == 2);
  cluster.say("n2", JobEnded{1, 3, {}});
  cluster.pass(0.2);
  CHECK(cluster.last["n2"].version == version + 2);
}

TEST_CASE("a changed rate is sent to all nodes of the job") {
  Cluster cluster = two_nodes();
  const int before = cluster.grants["n1"];
  JobPart faster = part_of(1, 5000, 1);
  faster.loader_cpu_s_per_sample = 0.0005;
  cluster.say("n2", JobChanged{1, faster});
  cluster.pass(0.2);
  CHECK(cluster.grants["n1"] == before + 1);
  CHECK(cluster.rate_of("n1", 1) == Approx(2000).epsilon(1e-3));
}

TEST_CASE("a change without effect on other nodes is not sent to them") {
  Cluster cluster = two_nodes();
  const int before = cluster.grants["n2"];
  cluster.say("n1", JobChanged{8, part_of(2, 8000, 4)});
  cluster.pass(0.2);
  CHECK(cluster.grants["n2"] == before);
}

TEST_CASE("solves keep a minimum interval and batch the changes between them") {
  Controller::Settings settings;
  settings.min_solve_interval_s = 1;
  Cluster cluster({}, settings);
  cluster.say("n1", hello_of(8, {}));
  cluster.pass(3);
  const int before = cluster.grants["n1"];
  for (uint64_t id = 1; id <= 20; ++id) {
    cluster.say("n1", JobChanged{8, part_of(id, 10, 0.1)});
    cluster.pass(0.02);
  }
  cluster.pass(1.1);
  CHECK(cluster.grants["n1"] <= before + 2);
  CHECK(cluster.last["n1"].jobs.size() == 20);
}

TEST_CASE(
    "unknown nodes, new sessions and gaps are answered by a request to "
    "connect") {
  Cluster cluster = two_nodes();
  cluster.say("n9", JobChanged{1, part_of(7, 10, 0)});
  cluster.pass(0.1);
  CHECK(cluster.resyncs["n9"] == 1);
  CHECK(cluster.controller.plan().job_count() == 2);
  cluster.say("n2", JobEnded{1, 1, {}}, /*missed=*/1);
  cluster.pass(0.1);
  CHECK(cluster.resyncs["n2"] == 1);
  // Not applied: more messages may be missing.
  CHECK(cluster.controller.plan().nodes_of(1).size() == 2);
  cluster.sessions["n1"] = 77;
  cluster.say("n1", JobEnded{8, 1, {}});
  cluster.pass(0.1);
  CHECK(cluster.resyncs["n1"] == 1);
  cluster.say("n1", hello_of(8, {}));
  CHECK(cluster.controller.plan().nodes_of(1).size() == 1);
}

TEST_CASE("a lost message is remembered until the agent's next hello") {
  Cluster cluster = two_nodes();
  cluster.say("n2", Heartbeat{1}, /*missed=*/1);
  cluster.pass(0.1);
  CHECK(cluster.resyncs["n2"] == 1);
  cluster.say("n2", hello_of(1, {part_of(1, 5000, 1)}));
  // Lost within a second of the first request: no further one yet.
  cluster.say("n2", Heartbeat{1}, /*missed=*/1);
  cluster.pass(0.1);
  CHECK(cluster.resyncs["n2"] == 1);
  cluster.pass(1);
  cluster.say("n2", Heartbeat{1});
  cluster.pass(0.1);
  CHECK(cluster.resyncs["n2"] == 2);
  cluster.say("n2", hello_of(1, {}));
  cluster.say("n2", Heartbeat{1});
  cluster.pass(2);
  CHECK(cluster.resyncs["n2"] == 2);
}

TEST_CASE("a heartbeat is answered, and a lost grant is sent again") {
  Cluster cluster = two_nodes();
  const NodeGrant granted = cluster.last["n2"];
  cluster.pass(5);
  const int before = cluster.grants["n2"];
  cluster.say("n2", Heartbeat{1, granted.term, granted.version, 0});
  cluster.pass(0.2);
  CHECK(cluster.beats["n2"] == 1);
  CHECK(cluster.grants["n2"] == before);
  cluster.say("n2", Heartbeat{1, granted.term, granted.version - 1, 0});
  cluster.pass(0.2);
  CHECK(cluster.grants["n2"] == before + 1);
}

TEST_CASE("a silent node's jobs get their floors, and are forgotten later") {
  Cluster cluster;
  cluster.say("n1", hello_of(4, {part_of(1, 9000, 1)}));
  cluster.say("n2", hello_of(4, {part_of(1, 9000, 1)}));
  cluster.pass(2);
  CHECK(cluster.rate_of("n1", 1) == Approx(4000).epsilon(1e-3));
  for (int i = 0; i < 5; ++i) {
    cluster.say("n1", Heartbeat{4, cluster.controller.term(), 1, 0});
    cluster.pass(10);
  }
  CHECK_THAT(cluster.remarks, ContainsSubstring("node n2: silent"));
  CHECK(cluster.rate_of("n1", 1) == Approx(1000).epsilon(1e-3));
  cluster.say("n2", Heartbeat{4, cluster.controller.term(), 1, 0});
  cluster.pass(1);
  CHECK(cluster.rate_of("n1", 1) == Approx(4000).epsilon(1e-3));
  for (int i = 0; i < 62; ++i) {
    cluster.say("n1", Heartbeat{4, cluster.controller.term(), 1, 0});
    cluster.pass(10);
  }
  CHECK(cluster.controller.plan().nodes_of(1).size() == 1);
  CHECK(cluster.rate_of("n1", 1) == 0);  // now planned by its only node
}

TEST_CASE(
    "a node gets its part of a pool and the shares to use without a "
    "controller") {
  Cluster cluster({pool_of("net", 1000)});
  cluster.say("n1", hello_of(4, {reading(part_of(1, 100, 4), "net", 1)}));
  cluster.say("n2", hello_of(4, {reading(part_of(2, 2000, 4), "net", 1)}));
  cluster.say("n3", hello_of(4, {}));
  cluster.pass(2);
  const PoolGrant& first = cluster.last["n1"].pools.at(0);
  const PoolGrant& second = cluster.last["n2"].pools.at(0);
  const PoolGrant& third = cluster.last["n3"].pools.at(0);
  CHECK(first.bytes_per_s + second.bytes_per_s <= 1000 * (1 + 1e-12));
  CHECK(second.bytes_per_s >= 890);
  CHECK(third.bytes_per_s == 0);
  CHECK(third.all_shares == 2);
  CHECK(first.node_shares == 1);
  CHECK(first.bandwidth_bytes_per_s == 1000);
}

TEST_CASE("forgotten nodes hold no bandwidth and may reconnect") {
  Cluster cluster({pool_of("net", 100000)});
  const auto hello = [](uint64_t job) {
    return hello_of(4, {reading(part_of(job, 1e6, 4), "net", 1)});
  };
  cluster.say("live", hello(1));
  for (uint64_t i = 0; i < 40; ++i) {
    cluster.say("dead" + std::to_string(i), hello(i + 2));
  }
  cluster.pass(2);
  const uint64_t version = cluster.last["dead7"].version;
  for (int i = 0; i < 65; ++i) {
    cluster.say("live", Heartbeat{4, cluster.controller.term(),
                                  cluster.last["live"].version, 0});
    cluster.pass(10);
  }
  CHECK(cluster.controller.plan().job_count() == 1);
  // Its need, and its part of the rest.
  CHECK(cluster.last["live"].pools.at(0).bytes_per_s ==
        Approx(4000 + kDivided * 96000));
  const int grants = cluster.grants["live"];
  cluster.pass(5);
  CHECK(cluster.grants["live"] == grants);
  // The agent refuses versions that it has seen before.
  cluster.say("dead7", hello(9));
  cluster.pass(2);
  CHECK(cluster.last["dead7"].version > version);
  CHECK(cluster.last["dead7"].pools.at(0).bytes_per_s ==
        Approx(4000 + kDivided * 92000 / 2));
}

TEST_CASE("reductions for a job's start are sent to a few nodes at a time") {
  constexpr int kNodes = 400;
  constexpr double kBandwidth = 4e6;
  Cluster cluster({pool_of("net", uint64_t(kBandwidth))});
  const auto told = [&] {
    double sum = 0;
    for (const auto& [name, grant] : cluster.last) {
      sum += grant.pools.at(0).bytes_per_s;
    }
    return sum;
  };
  const auto grants = [&] {
    int sum = 0;
    for (const auto& [name, count] : cluster.grants) sum += count;
    return sum;
  };
  for (int i = 0; i < kNodes; ++i) {
    cluster.say(
        std::to_string(i),
        hello_of(8, {reading(part_of(uint64_t(i + 1), 1e6, 4), "net", 1e3)}));
  }
  cluster.pass(2);
  CHECK(told() == Approx(kBandwidth));
  const int before = grants();
  cluster.say("0",
              JobChanged{8, reading(part_of(kNodes + 1, 1e6, 4), "net", 1e3)});
  cluster.pass(0.06);
  CHECK(grants() - before <= int(1 + 2 * Controller::kToldAtOnce));
  CHECK(told() > kBandwidth);
  CHECK(told() <= kBandwidth * (1 + Controller::kOverTold));
  CHECK(cluster.last["0"].pools.at(0).bytes_per_s ==
        Approx(2 * kBandwidth / (kNodes + 1)));
  cluster.pass(2);
  CHECK(told() <= kBandwidth * (1 + 1e-9));

  // A larger reduction is sent to as many nodes as it needs.
  std::vector<JobPart> many;
  for (uint64_t id = 1; id <= 100; ++id) {
    many.push_back(reading(part_of(1000 + id, 1e6, 0.04), "net", 1e3));
  }
  cluster.say("new", hello_of(8, many));
  cluster.pass(0.7);  // the solve waits for a new node
  CHECK(told() <= kBandwidth * (1 + Controller::kOverTold));
}

TEST_CASE("most nodes' reports of a newer term end the controller's own") {
  Cluster cluster = two_nodes();
  const uint64_t term = cluster.controller.term();
  const int before = cluster.grants["n1"];
  cluster.say("n1", Refused{term, 3, term + 1});
  CHECK(cluster.controller.is_active());
  cluster.say("stranger", Heartbeat{1, term + 1, 3, 0});
  CHECK(cluster.controller.is_active());
  cluster.say("n2", Refused{term, 3, term + 1});
  CHECK_FALSE(cluster.controller.is_active());
  cluster.say("n1", JobEnded{8, 2, {}});
  cluster.pass(1);
  CHECK(cluster.grants["n1"] == before);
  CHECK_THAT(cluster.remarks, ContainsSubstring("ends"));
}

TEST_CASE("a standby follows all messages and grants at once when active") {
  Controller::Settings settings;
  settings.place = 1;
  Cluster cluster({}, settings);
  cluster.say("n1", [] {
    NodeHello hello = hello_of(8, {part_of(1, 5000, 4)});
    hello.term = 16;
    return hello;
  }());
  cluster.say("n2", [] {
    NodeHello hello = hello_of(1, {part_of(1, 5000, 1)});
    hello.term = 16;
    return hello;
  }());
  cluster.pass(40);
  CHECK(cluster.grants.empty());
  for (const char* node : {"n1", "n2"}) {
    cluster.say(node, Heartbeat{1, 16, 5, 31});
  }
  cluster.pass(1);
  CHECK(cluster.controller.term() > 16);
  CHECK(cluster.rate_of("n1", 1) == Approx(1000).epsilon(1e-3));
}

TEST_CASE("an agent that reports more CPUs than Slurm is excluded") {
  Cluster cluster;
  cluster.controller.set_slurm_cpus("n1", 4);
  cluster.say("n1", hello_of(8, {part_of(1, 5000, 4)}));
  cluster.pass(2);
  CHECK_THAT(cluster.remarks, ContainsSubstring("node n1: cpus is 8"));
  CHECK(cluster.controller.plan().job_count() == 0);
  // Logged once, until the report changes.
  cluster.remarks.clear();
  cluster.say("n1", hello_of(8, {part_of(1, 5000, 4)}));
  cluster.pass(2);
  CHECK_THAT(cluster.remarks, !ContainsSubstring("cpus"));
  cluster.say("n1", hello_of(9, {part_of(1, 5000, 4)}));
  cluster.pass(2);
  CHECK_THAT(cluster.remarks, ContainsSubstring("node n1: cpus is 9"));
  // Slurm's count may also arrive later.
  cluster.say("n2", hello_of(8, {part_of(2, 5000, 4)}));
  cluster.pass(1);
  CHECK(cluster.controller.plan().job_count() == 1);
  cluster.controller.set_slurm_cpus("n2", 4);
  CHECK(cluster.controller.plan().job_count() == 0);
}

TEST_CASE("listeners receive starts, changes and ends of jobs") {
  using Kind = ClusterEvent::Kind;
  Cluster cluster = two_nodes();
  cluster.events.clear();
  cluster.say("n1", JobChanged{8, part_of(3, 10, 0)});
  cluster.say("n1", JobChanged{8, part_of(3, 20, 0)});
  cluster.say("n1", JobEnded{8, 3, {}});
  cluster.say("n1", hello_of(8, {part_of(1, 5000, 4)}));
  cluster.pass(0.1);
  REQUIRE(cluster.events.size() == 5);
  CHECK((cluster.events[0].kind == Kind::kPartChanged));
  CHECK(cluster.events[0].is_new);
  CHECK_FALSE(cluster.events[1].is_new);
  CHECK((cluster.events[2].kind == Kind::kPartEnded));
  CHECK(cluster.events[2].part.ceiling == 20);
  CHECK_FALSE(cluster.events[3].is_new);
  CHECK((cluster.events[4].kind == Kind::kPartEnded));
  CHECK(cluster.events[4].job == 2);
}

TEST_CASE("the end of a job carries its last values to listeners") {
  Cluster cluster = two_nodes();
  cluster.events.clear();
  JobPart last = part_of(2, 9000, 4);
  last.mean_rate = 77;
  cluster.say("n1", JobEnded{8, 2, last});
  cluster.pass(0.1);
  REQUIRE(cluster.events.size() == 1);
  CHECK(cluster.events[0].part.mean_rate == 77);
}

TEST_CASE("jobs of an excluded node end for listeners") {
  Cluster cluster = two_nodes();
  cluster.events.clear();
  cluster.controller.set_slurm_cpus("n1", 4);
  cluster.pass(0.1);
  REQUIRE(cluster.events.size() == 2);
  CHECK((cluster.events[1].kind == ClusterEvent::Kind::kPartEnded));
}

TEST_CASE(
    "figures of earlier runs go to a job's nodes until its cost is known") {
  Cluster cluster;
  JobPart blind = part_of(7, 2, 1);
  blind.in_cores = true;
  const auto told = [&](const std::string& node) {
    for (const JobGrant& grant : cluster.last[node].jobs) {
      if (grant.id == 7) return grant.earlier;
    }
    return std::optional<EarlierFigures>();
  };
  const EarlierFigures earlier{800, 4e-3, 1e-3, 1e5, 0.3};
  cluster.controller.set_earlier(7, earlier);  // for an unknown job
  cluster.say("n1", hello_of(4, {blind}));
  cluster.say("n2", hello_of(4, {}));
  cluster.pass(2);
  CHECK_FALSE(told("n1"));
  cluster.controller.set_earlier(7, earlier);
  cluster.pass(0.1);
  CHECK((told("n1") == earlier));
  cluster.say("n2", JobChanged{4, blind});  // another of its ranks
  cluster.pass(0.1);
  CHECK((told("n2") == earlier));
  cluster.say("n1", JobChanged{4, part_of(7, 800, 1)});
  cluster.pass(0.1);
  CHECK_FALSE(told("n1"));
  // Another job reuses the id.
  cluster.say("n1", JobEnded{4, 7, {}});
  cluster.say("n2", JobEnded{4, 7, {}});
  cluster.say("n2", JobChanged{4, blind});
  cluster.pass(0.1);
  CHECK_FALSE(told("n2"));
}

TEST_CASE("a part that becomes too large for its node ends for listeners") {
  Cluster cluster = two_nodes();
  cluster.events.clear();
  cluster.say("n1", JobChanged{8, part_of(2, 9000, 40)});
  cluster.pass(0.1);
  CHECK_THAT(cluster.remarks, ContainsSubstring("entitled_cores"));
  REQUIRE(cluster.events.size() == 1);
  CHECK((cluster.events[0].kind == ClusterEvent::Kind::kPartEnded));
  cluster.say("n1", JobChanged{8, part_of(9, 9000, 40)});  // nor a new one
  cluster.pass(0.1);
  CHECK(cluster.events.size() == 1);
}
