#include "node_agent/plan/cluster_report.h"

#include <cmath>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

PlanJob job(uint64_t id, CpuSet home, double ceiling, double cpu_s,
            double bytes = 0, int pool = -1) {
  PlanJob entry;
  entry.id = id;
  entry.own_cpus = home;
  entry.home_cpus = std::move(home);
  Prediction p;
  auto exact = [](double v) { return Figure{v, v, v}; };
  p.ceiling_samples_per_s = exact(ceiling);
  p.loader_cpu_s_per_sample = exact(cpu_s);
  p.storage_bytes_per_sample = exact(bytes);
  entry.prediction = p;
  entry.loader_units = 4;
  entry.elastic = true;
  entry.pool = pool;
  return entry;
}

PlanInput node(std::vector<PlanJob> jobs) {
  PlanInput input;
  input.jobs = std::move(jobs);
  input.numa_node_of_cpu = {0, 0, 0, 0};
  input.core_of_cpu = {0, 1, 2, 3};
  return input;
}

NodeGrant grant_of(std::vector<JobGrant> jobs, std::vector<PoolGrant> pools) {
  NodeGrant grant;
  grant.term = 16;
  grant.version = 1;
  grant.jobs = std::move(jobs);
  grant.pools = std::move(pools);
  return grant;
}

ClusterGrant taken(const NodeGrant& grant) {
  ClusterGrant state(30, 0);
  REQUIRE(state.take(grant, 1).is_new);
  return state;
}

}  // namespace

TEST_CASE("a job is reported per rank, with its entitlement on the node") {
  PlanInput input = node({job(1, CpuSet({0, 1}), 400, 0.002, 1e5, 0)});
  PlanJob& it = input.jobs[0];
  it.uid = 1000;
  it.ranks = 2;
  it.shares = 2;
  it.weight = 3;  // 1.5 each
  it.reserve_cores = 0.5;
  it.pool_pressed = true;
  input.pools = {1e9};
  input.idle_cpus = CpuSet({2});
  const auto parts = job_parts(
      input, {"net"}, {{1, {.name = "train", .started_unix_s = 99.5}}});
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].name == "train");
  CHECK(parts[0].started_unix_s == 99.5);
  CHECK(parts[0].ranks == 2);
  CHECK(parts[0].weight == 1.5);
  CHECK(parts[0].ceiling == Approx(400));
  CHECK(parts[0].loader_cpu_s_per_sample == Approx(0.002));
  CHECK(parts[0].storage_bytes_per_sample == Approx(1e5));
  CHECK(parts[0].pool == "net");
  CHECK(parts[0].entitled_cores == Approx(1.5));
  CHECK(parts[0].pool_pressed);
  CHECK_FALSE(parts[0].in_cores);
  CHECK_FALSE(parts[0].is_measured);
  input.jobs[0].prediction->basis = "measured 12 s";
  CHECK(job_parts(input, {"net"}, {})[0].is_measured);
  CHECK(loader_cores(input) == Approx(2.5));
}

TEST_CASE("a job of unknown cost is reported in cores") {
  PlanInput input = node({job(1, CpuSet({0}), 400, 0.002)});
  input.jobs[0].prediction.reset();
  input.jobs[0].used_loader_cores = 0.95;
  const auto parts = job_parts(input, {}, {});
  CHECK(parts[0].in_cores);
  CHECK(parts[0].ceiling == Approx(2));
}

TEST_CASE("only changed jobs, ended jobs and new core counts are reported") {
  ClusterReport report;
  PlanInput input =
      node({job(1, CpuSet({0}), 400, 0.002), job(2, CpuSet({1}), 40, 0.002)});
  const auto say = [&] {
    return report.update(loader_cores(input), job_parts(input, {}, {}));
  };
  CHECK(say().size() == 2);
  CHECK(say().empty());
  input.jobs[0] = job(1, CpuSet({0}), 404, 0.002);
  CHECK(say().empty());
  // Compared with the last report, not with the last observation.
  input.jobs[0] = job(1, CpuSet({0}), 409, 0.002);
  const auto changed = say();
  REQUIRE(changed.size() == 1);
  CHECK(std::get<JobChanged>(changed[0]).part.ceiling == Approx(409));
  input.jobs.pop_back();
  const auto ended = say();
  REQUIRE(ended.size() == 1);
  CHECK(std::get<JobEnded>(ended[0]).id == 2);
  input.idle_cpus = CpuSet({1});
  const auto idle = say();
  REQUIRE(idle.size() == 1);
  CHECK(std::get<Heartbeat>(idle[0]).loader_cores == 2);
  CHECK(report.parts().size() == 1);
}

TEST_CASE("values that only the history uses are sent at a job's end") {
  ClusterReport report;
  const PlanInput input = node({job(1, CpuSet({0}), 400, 0.002)});
  std::map<uint64_t, JobLabel> labels;
  labels[1] = {.name = "train",
               .model = std::string(100, 'm'),
               .batch = 64,
               .mean_rate = 100};
  const auto say = [&](const PlanInput& now) {
    return report.update(1, job_parts(now, {}, labels));
  };
  const auto first = say(input);
  REQUIRE(first.size() == 1);
  CHECK(std::get<JobChanged>(first[0]).part.model == std::string(64, 'm'));
  CHECK(std::get<JobChanged>(first[0]).part.batch == 64);
  labels[1].mean_rate = 300;
  labels[1].trainer_reserve_cores = 0.5;
  labels[1].grant_changes = 9;
  CHECK(say(input).empty());
  labels[1].mean_rate = 1e30;  // from a page
  labels[1].trainer_reserve_cores = 0.5;
  report.note(1, labels[1]);
  report.note(2, labels[1]);  // an unknown job
  const auto ended = say(node({}));
  REQUIRE(ended.size() == 1);
  const auto last = std::get<JobEnded>(ended[0]).last;
  REQUIRE(last);
  CHECK(last->mean_rate == bounds::kMaxRate);
  CHECK(last->trainer_reserve_cores == 0.5);
  CHECK(last->grant_changes == 9);
}

TEST_CASE("a run is reported again after it has grown by a quarter") {
  ClusterReport report;
  const PlanInput input = node({job(1, CpuSet({0}), 400, 0.002)});
  std::map<uint64_t, JobLabel> labels;
  (void)report.update(1, job_parts(input, {}, labels));
  const auto grown = [&](double wall_s) {
    labels[1].run.wall_s = wall_s;
    labels[1].mean_rate = wall_s;
    return report.say_grown(labels);
  };
  CHECK(grown(59).empty());
  const auto first = grown(60);
  REQUIRE(first.size() == 1);
  const JobPart& part = std::get<JobChanged>(first[0]).part;
  CHECK(part.run.wall_s == 60.0);
  CHECK(part.mean_rate == 60);
  CHECK(part.ceiling == Approx(400));  // as last reported
  CHECK(grown(60).empty());
  CHECK(grown(119).empty());
  CHECK(grown(1000).size() == 1);
  CHECK(grown(1249).empty());
  CHECK(grown(1250).size() == 1);
  // These reports are not changes of the plan.
  CHECK(report.update(1, job_parts(input, {}, labels)).empty());
  CHECK(report.say_grown({}).empty());
  CHECK(report.parts()[0].run.wall_s == 1250.0);
}

TEST_CASE(
    "a controller accepts reports with extreme values of a user's program") {
  PlanInput input = node({job(1, CpuSet({0}), 1e30, 1e-30)});
  input.jobs[0].max_bytes_per_s = UINT64_MAX;
  std::map<uint64_t, JobLabel> labels;
  std::string name = "x";
  while (name.size() < 256) name += "\u00e9";  // two bytes
  labels[1] = {.name = name,
               .model = std::string(1000, 'm'),
               .trainer_reserve_cores = 1e12,
               .mean_rate = 1e30,
               .run = {.wall_s = 1e30,
                       .parts_s = {.compute = 1e30, .prep_stall = -1},
                       .home_core_s = std::nan("")}};
  for (const JobPart& part : job_parts(input, {}, labels)) {
    const TypedBody said = body_of(AgentMessage(JobChanged{1, part}));
    const auto read = read_agent_message(said.type, said.body);
    if (!read) FAIL(read.error().message);
    CHECK(part.name.size() == 63);  // "x" and whole characters
  }
}

TEST_CASE("a job that spans nodes is limited to its slowest rank's rate") {
  // Alone it would use its CPU; its ranks elsewhere do 250/s.
  PlanInput input = node(
      {job(1, CpuSet({0}), 4000, 0.001), job(2, CpuSet({1}), 9000, 0.001)});
  CHECK(make_plan(input)->grants[1].away_cpus.empty());
  apply_grant(taken(grant_of({{1, 250, 250, {}}, {2, 1000, 0, {}}}, {})), {},
              input);
  const auto plan = make_plan(input);
  REQUIRE(plan.ok());
  CHECK(plan->grants[1].away_cpus == CpuSet({0}));
  CHECK(plan->grants[1].away_cores > 0.7);
  CHECK(plan->grants[0].rate >= 250 * (1 - 1e-6));
  CHECK(plan->grants[0].floor == Approx(250));
  CHECK(plan->grants[0].home_cores == 1);  // lending narrows nothing
}

TEST_CASE("a rank that its job waits for gets cores before neighbouring jobs") {
  PlanInput input =
      node({job(1, CpuSet({0}), 9000, 0.001), job(2, CpuSet({1}), 9000, 0.001),
            job(3, CpuSet({2}), 10, 0.001)});
  input.jobs[0].weight = 0.1;  // alone it would lose
  apply_grant(taken(grant_of({{1, 1000, 1900}}, {})), {}, input);
  const auto plan = make_plan(input);
  REQUIRE(plan.ok());
  CHECK(plan->grants[0].rate >= 1900 * (1 - 1e-6));
}

TEST_CASE("a cluster rate beyond the node's capacity costs no job its floor") {
  PlanInput input = node(
      {job(1, CpuSet({0}), 9000, 0.001), job(2, CpuSet({1}), 9000, 0.001)});
  apply_grant(taken(grant_of({{1, 1000, 5000}}, {})), {}, input);
  const auto plan = make_plan(input);
  REQUIRE(plan.ok());
  for (const PlannedGrant& grant : plan->grants) {
    CHECK(grant.rate >= 1000 * (1 - 1e-6));
  }
}

TEST_CASE(
    "a ceiling measured while other ranks were slow does not limit a job") {
  // The job measured 250/s while others were slow; now they do 900/s.
  PlanInput input = node({job(1, CpuSet({0}), 250, 0.001)});
  apply_grant(taken(grant_of({{1, 250, 900}}, {})), {}, input);
  CHECK(make_plan(input)->grants[0].rate >= 900 * (1 - 1e-6));
}

TEST_CASE(
    "a node divides its part of a shared pool, and entitlements count all "
    "ranks") {
  PlanInput input = node({job(1, CpuSet({0}), 1000, 1e-6, 1, 0)});
  input.pools = {1000};
  apply_grant(taken(grant_of({}, {{"net", 700, 1, 4, 1000}})), {"net"}, input);
  const auto plan = make_plan(input);
  REQUIRE(plan.ok());
  CHECK(plan->grants[0].bytes_per_s == Approx(700));
  CHECK(plan->grants[0].entitled_bytes_per_s == Approx(250));
}

TEST_CASE("a job started after the grant has its pool entitlement at once") {
  PlanInput input = node({job(1, CpuSet({0}), 1000, 1e-6, 1, 0),
                          job(2, CpuSet({1}), 1000, 1e-6, 1, 0)});
  input.pools = {1000};
  // One rank of four was known here: now there are five in all.
  apply_grant(taken(grant_of({}, {{"net", 250, 1, 4, 1000}})), {"net"}, input);
  const auto plan = make_plan(input);
  REQUIRE(plan.ok());
  for (const PlannedGrant& grant : plan->grants) {
    CHECK(grant.entitled_bytes_per_s == Approx(200));
    CHECK(grant.bytes_per_s >= 200 * (1 - 1e-6));
  }
}

TEST_CASE("without a controller a node's part of a pool follows its ranks") {
  PlanInput input = node({job(1, CpuSet({0}), 4000, 1e-6, 1, 0)});
  input.pools = {1000};
  ClusterGrant grant =
      taken(grant_of({{1, 10, 20}}, {{"net", 700, 1, 4, 1000}}));
  REQUIRE(grant.expire(100));
  apply_grant(grant, {"net"}, input);
  CHECK(input.jobs[0].cluster_rate == 0);
  CHECK(make_plan(input)->grants[0].bytes_per_s == Approx(250));
}

TEST_CASE(
    "an unshared pool, or one without a grant, keeps its configured "
    "bandwidth") {
  PlanInput input = node({job(1, CpuSet({0}), 4000, 1e-6, 1, 0)});
  input.pools = {1000};
  apply_grant(taken(grant_of({}, {{"net", 700, 1, 4, 1000}})), {""}, input);
  CHECK(make_plan(input)->grants[0].bytes_per_s == Approx(1000));
  apply_grant(ClusterGrant(30, 0), {"net"}, input);
  CHECK(make_plan(input)->grants[0].bytes_per_s == Approx(1000));
}
