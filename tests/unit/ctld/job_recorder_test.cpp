#include "select_ext/ctld/job_recorder.h"

#include "tests/unit/catch.h"
#include "tests/unit/wire/agents.h"

namespace penstock {
namespace {

constexpr double kNow = 1.78e9;
using Slurm = SlurmEvent::Kind;
using Agents = ClusterEvent::Kind;

SlurmJob slurm_job(uint32_t id, uint32_t restart_count = 0) {
  SlurmJob job;
  job.job_id = id;
  job.restart_count = restart_count;
  job.uid = 1000;
  job.account = "physics";
  job.name = "train_7";
  job.command = "/home/ada/train.sh";
  job.phase = SlurmPhase::kRunning;
  job.state = "RUNNING";
  job.nodes = "n[1-2]";
  job.node_count = 2;
  job.gpus = 4;
  job.submit_unix_s = 1779999000;
  job.start_unix_s = 1779999500;
  return job;
}

SlurmEvent ended(SlurmJob job, const char* state = "COMPLETED") {
  job.phase = SlurmPhase::kEnded;
  job.state = state;
  job.end_unix_s = 1780000500;
  return {Slurm::kEnded, job, {}};
}

JobPart measured(uint64_t id, double ceiling, double ranks) {
  JobPart part = part_of(id, ceiling, 4);
  part.is_measured = true;
  part.ranks = ranks;
  part.storage_bytes_per_sample = 1e5;
  return part;
}

ClusterEvent changed(const std::string& node, const JobPart& part) {
  return {Agents::kPartChanged, node, part.id, part, false};
}

ClusterEvent part_ended(const std::string& node, const JobPart& part) {
  return {Agents::kPartEnded, node, part.id, part, false};
}

TEST_CASE(
    "a run's record joins the data of Slurm and of the agents on its nodes") {
  JobRecorder recorder;
  JobPart slow = measured(1, 90, 2), fast = measured(1, 100, 1);
  slow.loader_cpu_s_per_sample = 0.004;
  recorder.on_cluster(changed("n1", fast), kNow);
  CHECK(recorder.take(kNow).empty());  // Slurm has not reported it yet
  recorder.on_slurm({Slurm::kStarted, slurm_job(1), {}}, kNow + 1);
  recorder.on_cluster(changed("n2", slow), kNow + 1);
  std::vector<JobRecord> records = recorder.take(kNow + 1);
  REQUIRE(records.size() == 1);
  CHECK(records[0].state == "RUNNING");
  CHECK_FALSE(records[0].end_unix_s);
  CHECK(recorder.take(kNow + 2).empty());  // nothing new

  recorder.on_cluster(part_ended("n1", fast), kNow + 20);
  recorder.on_cluster(part_ended("n2", slow), kNow + 21);
  recorder.on_slurm(ended(slurm_job(1)), kNow + 22);
  records = recorder.take(kNow + 22);
  REQUIRE(records.size() == 1);
  const JobRecord& record = records[0];
  CHECK(record.job_id == 1);
  CHECK(record.uid == 1000);
  CHECK(record.account == "physics");
  CHECK(record.name == "train_7");
  CHECK(record.kind == job_kind("train_7", "/home/ada/train.sh"));
  CHECK(record.command_hash == text_hash("/home/ada/train.sh"));
  CHECK(record.nodes == 2);
  CHECK(record.ranks == 3);
  CHECK(record.gpus == 4);
  CHECK(record.state == "COMPLETED");
  CHECK(record.submit_unix_s == 1779999000);
  CHECK(record.start_unix_s == 1779999500);
  CHECK(record.end_unix_s == 1780000500);
  CHECK(record.last_seen_unix_s == kNow + 22);
  CHECK(record.measured_s == 21);
  CHECK(record.ceiling_samples_per_s == 90);  // the slowest rank's
  CHECK(*record.loader_cpu_s_per_sample == Approx(0.003));
  CHECK(record.storage_bytes_per_sample == 1e5);
  CHECK_FALSE(record.mean_rate_samples_per_s);
  CHECK(recorder.known_jobs() == 0);
}

TEST_CASE("values of a profile are not recorded as measured") {
  JobRecorder recorder;
  JobPart guess = measured(1, 100, 1), blind = measured(1, 2, 1);
  guess.is_measured = false;
  blind.in_cores = true;
  recorder.on_slurm({Slurm::kStarted, slurm_job(1), {}}, kNow);
  recorder.on_cluster(changed("n1", guess), kNow);
  recorder.on_cluster(changed("n1", blind), kNow + 30);
  recorder.on_slurm(ended(slurm_job(1)), kNow + 60);
  const std::vector<JobRecord> records = recorder.take(kNow + 60);
  REQUIRE(records.size() == 1);
  CHECK(records[0].measured_s == 0);
  CHECK_FALSE(records[0].ceiling_samples_per_s);
  CHECK_FALSE(records[0].loader_cpu_s_per_sample);
}

TEST_CASE("jobs that Penstock does not manage are not recorded") {
  JobRecorder recorder;
  recorder.on_slurm({Slurm::kStarted, slurm_job(1), {}}, kNow);
  recorder.on_slurm(ended(slurm_job(1)), kNow + 10);
  CHECK(recorder.take(kNow + 10).empty());
  CHECK(recorder.known_jobs() == 0);
}

TEST_CASE("a requeued job leaves a record of each run") {
  JobRecorder recorder;
  const JobPart part = measured(1, 100, 1);
  recorder.on_cluster(changed("n1", part), kNow);
  recorder.on_slurm({Slurm::kStarted, slurm_job(1), {}}, kNow);
  recorder.on_cluster(part_ended("n1", part), kNow + 50);
  recorder.on_slurm({Slurm::kRequeued, slurm_job(1), {}}, kNow + 51);
  recorder.on_slurm({Slurm::kStarted, slurm_job(1, 1), {}}, kNow + 60);
  recorder.on_cluster(changed("n1", part), kNow + 60);
  recorder.on_slurm(ended(slurm_job(1, 1), "FAILED"), kNow + 90);
  const std::vector<JobRecord> records = recorder.take(kNow + 90);
  REQUIRE(records.size() == 2);
  CHECK(records[0].restart_count == 0);
  CHECK(records[0].state == "REQUEUED");
  CHECK(records[0].end_unix_s == kNow + 51);
  CHECK(records[1].restart_count == 1);
  CHECK(records[1].state == "FAILED");
}

TEST_CASE("a job that Slurm lost ends when the loss is noticed") {
  JobRecorder recorder;
  recorder.on_cluster(changed("n1", measured(1, 100, 1)), kNow);
  recorder.on_slurm({Slurm::kStarted, slurm_job(1), {}}, kNow);
  recorder.on_slurm(ended(slurm_job(1), "LOST"), kNow + 7);
  const std::vector<JobRecord> records = recorder.take(kNow + 7);
  REQUIRE(records.size() == 1);
  CHECK(records[0].state == "LOST");
  CHECK(records[0].end_unix_s == kNow + 7);
}

TEST_CASE("without data from Slurm those of the agents are recorded") {
  JobRecorder recorder;
  JobPart part = measured(1, 100, 2);
  part.started_unix_s = kNow - 5;
  recorder.on_cluster(changed("n1", part), kNow);
  recorder.on_cluster(part_ended("n1", part), kNow + 30);
  CHECK(recorder.take(kNow + 31).empty());
  const std::vector<JobRecord> records = recorder.take(kNow + 95);
  REQUIRE(records.size() == 1);
  CHECK(records[0].state == "ENDED");
  CHECK(records[0].uid == 1000);
  CHECK(records[0].submit_unix_s == kNow - 5);
  CHECK(records[0].end_unix_s == kNow + 30);
  CHECK(records[0].measured_s == 30);
  CHECK(recorder.known_jobs() == 0);
}

TEST_CASE("a record has the values of the agents' last reports") {
  JobRecorder recorder;
  recorder.set_cluster("alpha");
  JobPart one = measured(1, 100, 2), two = measured(1, 100, 1);
  one.model = "res50";
  one.batch = 64;
  one.trainer_reserve_cores = 1;
  one.mean_rate = 80;
  one.grant_changes = 3;
  two = one;
  two.ranks = 1;
  recorder.on_slurm({Slurm::kStarted, slurm_job(1), {}}, kNow);
  recorder.on_cluster(changed("n1", one), kNow);
  recorder.on_cluster(changed("n2", two), kNow);
  one.grant_changes = 5;
  one.mean_rate = two.mean_rate = 90;
  one.trainer_reserve_cores = 2;
  recorder.on_cluster(part_ended("n2", two), kNow + 20);
  recorder.on_cluster(part_ended("n1", one), kNow + 20);
  recorder.on_slurm(ended(slurm_job(1)), kNow + 21);
  const std::vector<JobRecord> records = recorder.take(kNow + 21);
  REQUIRE(records.size() == 1);
  CHECK(records[0].cluster == "alpha");
  CHECK(records[0].model == "res50");
  CHECK(records[0].batch == 64);
  CHECK(records[0].mean_rate_samples_per_s == 90);
  CHECK(records[0].grant_changes == 8);
  CHECK(records[0].trainer_reserve_cores == 1);
}

TEST_CASE(
    "a run's times are averaged over ranks, its core seconds are summed") {
  JobRecorder recorder;
  JobPart three = measured(1, 100, 3), one = measured(1, 100, 1);
  three.run = {.wall_s = 100,
               .parts_s = {.compute = 60, .fetch_stall = 8, .prep_stall = 20},
               .home_core_s = 300,
               .lent_core_s = 0,
               .floor_samples_per_s = 90};
  one.run = three.run;
  one.run.parts_s.compute = 20;
  one.run.parts_s.fetch_stall.reset();
  one.run.floor_samples_per_s = 70;
  recorder.on_slurm({Slurm::kStarted, slurm_job(1), {}}, kNow);
  recorder.on_cluster(changed("n1", three), kNow);
  recorder.on_cluster(changed("n2", one), kNow);
  const std::vector<JobRecord> records = recorder.take(kNow + 1);
  REQUIRE(records.size() == 1);
  const RunTotals& run = records[0].run;
  CHECK(run.wall_s == 100);
  CHECK(run.parts_s.compute == 50);  // (3 x 60 + 20) / 4
  CHECK(run.parts_s.prep_stall == 20);
  CHECK_FALSE(run.parts_s.fetch_stall);  // unknown on one node
  CHECK_FALSE(run.away_core_s);          // unknown on both
  CHECK(run.home_core_s == 600);
  CHECK(run.lent_core_s == 0);
  CHECK(run.floor_samples_per_s == 70);
}

TEST_CASE("a node of a release that reports no times makes the job's unknown") {
  JobRecorder recorder;
  JobPart tells = measured(1, 100, 1);
  tells.run = {.wall_s = 100, .parts_s = {.compute = 60}, .home_core_s = 5};
  recorder.on_slurm({Slurm::kStarted, slurm_job(1), {}}, kNow);
  recorder.on_cluster(changed("n1", tells), kNow);
  CHECK(recorder.take(kNow)[0].run == tells.run);
  recorder.on_cluster(changed("n2", measured(1, 100, 1)), kNow);
  CHECK(recorder.take(kNow)[0].run == RunTotals());
}

TEST_CASE("a forgotten node that reconnects is counted once") {
  JobRecorder recorder;
  JobPart part = measured(1, 100, 1);
  part.grant_changes = 4;
  recorder.on_slurm({Slurm::kStarted, slurm_job(1), {}}, kNow);
  recorder.on_cluster(changed("n1", part), kNow);
  recorder.on_cluster(part_ended("n1", part), kNow + 10);
  part.grant_changes = 6;
  recorder.on_cluster(changed("n1", part), kNow + 20);
  recorder.on_slurm(ended(slurm_job(1)), kNow + 30);
  const std::vector<JobRecord> records = recorder.take(kNow + 30);
  REQUIRE(records.size() == 1);
  CHECK(records[0].grant_changes == 6);
}

TEST_CASE("a job's kind is known once Slurm has reported its command") {
  JobRecorder recorder;
  CHECK_FALSE(recorder.kind_of(1));
  recorder.on_cluster(changed("n1", measured(1, 100, 1)), kNow);
  REQUIRE(recorder.kind_of(1));  // without a Slurm
  CHECK(recorder.kind_of(1)->uid == 1000);
  recorder.expect_slurm();
  CHECK_FALSE(recorder.kind_of(1));
  recorder.on_slurm({Slurm::kStarted, slurm_job(2), {}}, kNow);
  CHECK_FALSE(recorder.kind_of(1));
  CHECK_FALSE(recorder.kind_of(2));  // not a managed job
  recorder.on_slurm({Slurm::kStarted, slurm_job(1), {}}, kNow);
  REQUIRE(recorder.kind_of(1));
  CHECK(recorder.kind_of(1)->kind == job_kind("train_7", "/home/ada/train.sh"));
}

TEST_CASE("ranks that end after their job ended in Slurm leave no record") {
  JobRecorder recorder;
  const JobPart part = measured(1, 100, 1);
  recorder.on_slurm({Slurm::kStarted, slurm_job(1), {}}, kNow);
  recorder.on_cluster(changed("n1", part), kNow);
  recorder.on_slurm(ended(slurm_job(1)), kNow + 10);
  CHECK(recorder.take(kNow + 10).size() == 1);
  recorder.on_cluster(changed("n1", part), kNow + 10.5);  // a late message
  recorder.on_cluster(part_ended("n1", part), kNow + 11);
  CHECK(recorder.take(kNow + 12).empty());
  CHECK(recorder.take(kNow + 90).empty());
  CHECK(recorder.known_jobs() == 0);
}

}  // namespace
}  // namespace penstock
