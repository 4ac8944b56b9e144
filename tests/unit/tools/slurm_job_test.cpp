#include "tools/penstock/slurm_job.h"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "fake_agent.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

// Programs of these names that print these lines, and nothing else in PATH.
struct Programs {
  Programs(const std::string& scontrol, const std::string& sacct) {
    if (!scontrol.empty()) add("scontrol", scontrol);
    if (!sacct.empty()) add("sacct", sacct);
    ::setenv("PATH", directory.path.c_str(), 1);
  }
  ~Programs() { ::setenv("PATH", before.c_str(), 1); }
  Programs(const Programs&) = delete;

  void add(const std::string& name, const std::string& line) {
    const std::string path = directory.file(name);
    std::ofstream(path) << "#!/bin/sh\necho \"" << line << "\"\n";
    ::chmod(path.c_str(), 0755);
  }

  const std::string before = std::getenv("PATH");
  ScratchDirectory directory;
};

TEST_CASE("Slurm tells a task's own number and state") {
  const Programs slurm(
      "JobId=12 ArrayJobId=9 ArrayTaskId=1 JobName=JobId=7 UserId=a(1) "
      "JobState=RUNNING Reason=None ReqNodeList=(null) "
      "NodeList=gpu[1-2,7] BatchHost=gpu1",
      "13|COMPLETED");
  const auto job = ask_slurm(*parse_job_number("9_1"));
  REQUIRE(job);
  CHECK(job->id == 12);
  CHECK(job->state == "RUNNING");
  CHECK(job->nodes == std::vector<std::string>{"gpu1", "gpu2", "gpu7"});
}

TEST_CASE("a job without nodes has none") {
  for (const char* list : {"NodeList=", "NodeList=(null)", "NodeList=a[1"}) {
    const Programs slurm(
        std::string("JobId=12 JobState=PENDING ") + list + " NumNodes=1", "");
    CHECK(ask_slurmctld(*parse_job_number("12"))->nodes.empty());
  }
}

TEST_CASE("the accounting tells what slurmctld has forgotten") {
  const Programs slurm("slurm_load_jobs error: Invalid job id specified",
                       "13|COMPLETED");
  const auto job = ask_slurm(*parse_job_number("9_1"));
  REQUIRE(job);
  CHECK(job->id == 13);
  CHECK(job->state == "COMPLETED");
}

TEST_CASE("a job that nobody knows is an error with a remedy") {
  Code code = Code::kNotFound;
  const auto check = [&] {
    const auto job = ask_slurm(*parse_job_number("9_1"));
    REQUIRE_FALSE(job);
    CHECK(job.error().code == code);
    CHECK(job.error().message.find("SLURM_JOB_ID") != std::string::npos);
    return job.error().message;
  };
  SECTION("to Slurm") {
    const Programs slurm("slurm_load_jobs error: Invalid job id specified",
                         "Slurm accounting storage is disabled");
    CHECK(check().starts_with("Slurm knows no job 9_1"));
  }
  SECTION("on a machine without Slurm") {
    const Programs slurm("", "");
    check();
  }
  SECTION("and one that nobody can be asked about is another") {
    const Programs slurm(
        "slurm_load_jobs error: Unable to contact slurm "
        "controller (connect failure)",
        "");
    code = Code::kUnavailable;
    CHECK(check().find("Unable to contact") != std::string::npos);
  }
}

TEST_CASE("the accounting is asked although slurmctld does not answer") {
  const Programs slurm("Unable to contact slurm controller", "13|COMPLETED");
  CHECK(ask_slurm(*parse_job_number("9_1"))->id == 13);
}

}  // namespace
}  // namespace penstock
