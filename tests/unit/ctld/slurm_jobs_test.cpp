#include "select_ext/ctld/slurm_jobs.h"

#include "tests/unit/catch.h"

namespace penstock {
namespace {

using Kind = SlurmEvent::Kind;

SlurmJob waiting(uint32_t id) {
  SlurmJob job;
  job.job_id = id;
  job.state = "PENDING";
  job.submit_unix_s = 1000;
  return job;
}

SlurmJob running(uint32_t id) {
  SlurmJob job = waiting(id);
  job.phase = SlurmPhase::kRunning;
  job.state = "RUNNING";
  job.nodes = "n1";
  job.node_count = 1;
  job.cpus = 4;
  job.start_unix_s = 1010;
  return job;
}

SlurmJob ended(uint32_t id, const char* state = "COMPLETED") {
  SlurmJob job = running(id);
  job.phase = SlurmPhase::kEnded;
  job.state = state;
  job.end_unix_s = 1100;
  return job;
}

SlurmJob suspended(uint32_t id) {
  SlurmJob job = running(id);
  job.phase = SlurmPhase::kSuspended;
  job.state = "SUSPENDED";
  return job;
}

SlurmJob in_run(SlurmJob job, uint32_t restart_count, int64_t start_unix_s) {
  job.restart_count = restart_count;
  job.start_unix_s = start_unix_s;
  return job;
}

struct Brief {
  Kind kind;
  uint32_t job_id;
  std::string state;

  friend bool operator==(const Brief&, const Brief&) = default;
};

std::ostream& operator<<(std::ostream& out, const Brief& brief) {
  return out << int(brief.kind) << " of " << brief.job_id << " " << brief.state;
}

using Briefs = std::vector<Brief>;

Briefs briefs(const std::vector<SlurmEvent>& events) {
  Briefs out;
  for (const SlurmEvent& event : events) {
    out.push_back({event.kind, event.job.job_id, event.job.state});
  }
  return out;
}

// The events of the second poll after the first one.
Briefs between(const std::vector<SlurmJob>& first,
               const std::vector<SlurmJob>& second) {
  SlurmJobs jobs;
  (void)jobs.look(first);
  Briefs events = briefs(jobs.look(second));
  CHECK(jobs.look(second).empty());  // no event is repeated
  return events;
}

TEST_CASE("starts and ends of jobs give one event each") {
  CHECK(between({}, {waiting(1)}).empty());
  CHECK(between({waiting(1)}, {running(1)}) ==
        Briefs{{Kind::kStarted, 1, "RUNNING"}});
  CHECK(between({}, {running(1)}) == Briefs{{Kind::kStarted, 1, "RUNNING"}});
  CHECK(between({running(1)}, {running(1)}).empty());
  CHECK(between({running(1)}, {ended(1, "TIMEOUT")}) ==
        Briefs{{Kind::kEnded, 1, "TIMEOUT"}});
  CHECK(between({ended(1)}, {ended(1)}).empty());
  CHECK(between({ended(1)}, {}).empty());
}

TEST_CASE("the end of a completing job has all nodes that the job had") {
  SlurmJobs jobs;
  SlurmJob whole = running(1);
  whole.nodes = "n[1-2]";
  whole.node_count = 2;
  whole.cpus = 8;
  (void)jobs.look({whole});
  const std::vector<SlurmEvent> events = jobs.look({ended(1, "CANCELLED")});
  REQUIRE(events.size() == 1);
  CHECK(events[0].kind == Kind::kEnded);
  CHECK(events[0].job.state == "CANCELLED");
  CHECK(events[0].job.end_unix_s == 1100);
  CHECK(events[0].job.nodes == "n[1-2]");
  CHECK(events[0].job.node_count == 2);
  CHECK(events[0].job.cpus == 8);
}

TEST_CASE("a job that is missing from the next poll has ended as LOST") {
  CHECK(between({running(1), running(2), suspended(3)}, {running(2)}) ==
        Briefs{{Kind::kEnded, 1, "LOST"}, {Kind::kEnded, 3, "LOST"}});
  CHECK(between({waiting(1)}, {}).empty());
}

TEST_CASE("a job that ran between two polls gives a start and an end") {
  const Briefs both = {{Kind::kStarted, 1, "FAILED"},
                       {Kind::kEnded, 1, "FAILED"}};
  CHECK(between({}, {ended(1, "FAILED")}) == both);
  CHECK(between({waiting(1)}, {ended(1, "FAILED")}) == both);
  SlurmJob cancelled = ended(2, "CANCELLED");
  cancelled.nodes.clear();  // while it waited
  CHECK(between({waiting(2)}, {cancelled}).empty());
}

TEST_CASE("a requeued job gives two runs with one id") {
  // slurmctld shows it waiting, then counts the restart, then runs it.
  SlurmJobs jobs;
  (void)jobs.look({in_run(running(1), 0, 1010)});
  CHECK(briefs(jobs.look({in_run(waiting(1), 0, 0)})) ==
        Briefs{{Kind::kRequeued, 1, "RUNNING"}});
  CHECK(jobs.look({in_run(waiting(1), 1, 0)}).empty());
  CHECK(briefs(jobs.look({in_run(running(1), 1, 2000)})) ==
        Briefs{{Kind::kStarted, 1, "RUNNING"}});

  // The same between two polls.
  const Briefs quick =
      between({in_run(running(1), 0, 1010)}, {in_run(running(1), 1, 2000)});
  CHECK(quick == Briefs{{Kind::kRequeued, 1, "RUNNING"},
                        {Kind::kStarted, 1, "RUNNING"}});
  SlurmJobs again;
  (void)again.look({in_run(running(1), 0, 1010)});
  const auto events = again.look({in_run(ended(1), 1, 2000)});
  REQUIRE(events.size() == 3);
  CHECK(events[0].kind == Kind::kRequeued);
  CHECK(events[0].job.restart_count == 0);
  CHECK(events[1].kind == Kind::kStarted);
  CHECK(events[1].job.restart_count == 1);
  CHECK(events[2].kind == Kind::kEnded);
  // A failed job that its user requeued.
  CHECK(between({in_run(ended(1, "FAILED"), 0, 1010)},
                {in_run(running(1), 1, 2000)}) ==
        Briefs{{Kind::kStarted, 1, "RUNNING"}});
}

TEST_CASE("a reused id is another job") {
  SlurmJob other = in_run(running(1), 0, 5000);
  other.submit_unix_s = 4990;
  CHECK(between({running(1)}, {other}) ==
        Briefs{{Kind::kEnded, 1, "LOST"}, {Kind::kStarted, 1, "RUNNING"}});
  CHECK(between({ended(1)}, {other}) == Briefs{{Kind::kStarted, 1, "RUNNING"}});
}

TEST_CASE("suspended, resumed and resized jobs give events") {
  CHECK(between({running(1)}, {suspended(1)}) ==
        Briefs{{Kind::kSuspended, 1, "SUSPENDED"}});
  CHECK(between({suspended(1)}, {running(1)}) ==
        Briefs{{Kind::kResumed, 1, "RUNNING"}});
  CHECK(between({}, {suspended(1)}) ==
        Briefs{{Kind::kStarted, 1, "SUSPENDED"},
               {Kind::kSuspended, 1, "SUSPENDED"}});
  CHECK(between({suspended(1)}, {ended(1, "CANCELLED")}) ==
        Briefs{{Kind::kEnded, 1, "CANCELLED"}});
  SlurmJob larger = running(1), elsewhere = running(1);
  larger.cpus = 8;
  larger.nodes = "n[1-2]";
  elsewhere.nodes = "n2";
  CHECK(between({running(1)}, {larger}) ==
        Briefs{{Kind::kResized, 1, "RUNNING"}});
  CHECK(between({running(1)}, {elsewhere}) ==
        Briefs{{Kind::kResized, 1, "RUNNING"}});
  SlurmJob both = suspended(1);
  both.cpus = 2;
  CHECK(between({running(1)}, {both}) ==
        Briefs{{Kind::kResized, 1, "SUSPENDED"},
               {Kind::kSuspended, 1, "SUSPENDED"}});
}

TEST_CASE("tasks of an array and components of a het job count as jobs") {
  SlurmJob task0 = running(10), task1 = running(11), rest = waiting(12);
  task0.array_job_id = task1.array_job_id = rest.array_job_id = 12;
  task0.array_task_id = 0;
  task1.array_task_id = 1;
  SlurmJob lead = running(20), second = running(21);
  lead.het_job_id = second.het_job_id = 20;
  lead.het_offset = 0;
  second.het_offset = 1;
  SlurmJobs jobs;
  const auto events = jobs.look({task0, task1, rest, lead, second});
  REQUIRE(events.size() == 4);
  CHECK(events[0].job == task0);
  CHECK(events[1].job == task1);
  CHECK(events[2].job == lead);
  CHECK(events[3].job == second);
  // The last task has the array's own id.
  SlurmJob last = running(12);
  last.array_job_id = 12;
  last.array_task_id = 2;
  SlurmJob over = ended(10);
  over.array_job_id = 12;
  over.array_task_id = 0;
  CHECK(
      briefs(jobs.look({over, task1, last, lead, second})) ==
      Briefs{{Kind::kEnded, 10, "COMPLETED"}, {Kind::kStarted, 12, "RUNNING"}});
}

TEST_CASE("new, changed and removed nodes give events") {
  SlurmJobs jobs;
  using Nodes = std::vector<SlurmNode>;
  const auto told = [&](const Nodes& nodes) {
    Nodes out;
    for (const SlurmEvent& event : jobs.look(nodes)) {
      CHECK(event.kind == Kind::kNodeCpus);
      out.push_back(event.node);
    }
    return out;
  };
  CHECK(told({{"n1", 4}, {"n2", 8}}) == Nodes{{"n1", 4}, {"n2", 8}});
  CHECK(told({{"n1", 4}, {"n2", 8}}).empty());
  CHECK(told({{"n1", 2}, {"n3", 8}}) == Nodes{{"n1", 2}, {"n3", 8}, {"n2", 0}});
}

TEST_CASE("GPUs are counted in Slurm's lists") {
  CHECK(gpus_of_gres("") == 0);
  CHECK(gpus_of_gres("gpu:2") == 2);
  CHECK(gpus_of_gres("gpu:a100:2,gpu:t4:1") == 3);
  CHECK(gpus_of_gres("loader_cpu:8,gpu:4(IDX:0-3)") == 4);
  CHECK(gpus_of_gres("gres:gpu:2,gres/gpu:1") == 3);
  CHECK(gpus_of_gres("gpu_mem:80,craynetwork:1") == 0);
  CHECK(gpus_of_gres("gpu:x") == 0);
  CHECK(gpus_of_gres("gpu:99999999999") == 0);
}

}  // namespace
}  // namespace penstock
