#include "tools/policy/mail.h"

#include "tests/unit/catch.h"
#include "tests/unit/policy/runs.h"

using namespace penstock;
using namespace penstock::policy;

namespace {

std::vector<MailedRun> runs(const std::vector<JobRecord>& jobs) {
  return runs_of(by_user(all_of(jobs)).front());
}

Mail mail_on(const std::vector<MailedRun>& runs) {
  return compose("ada", runs, 1780000000);
}

}  // namespace

TEST_CASE(
    "a mail names each run, what it wasted, and what its report advises") {
  auto told = runs({wide(idle(run_of(7)))});
  told[0].advice = {{{"num_workers=6", "#SBATCH --cpus-per-task=7"},
                     "the loader has too few workers",
                     Estimate{0.4, 0.3, 0.5}}};
  const Mail mail = mail_on(told);
  CHECK(mail.to == "ada");
  CHECK(mail.subject == "Penstock: 1 of your runs left GPUs or cores idle");
  CHECK(
      mail.text ==
      "These runs of yours, seen since 2026-05-28 20:26:40 UTC, left GPUs or "
      "cores\nidle. Nothing was done to them.\n"
      "\n"
      "Job 7 \"train\", ended 2026-05-29 06:26:40 UTC\n"
      "  no kernel ran on one of its 2 GPUs for 5 h 00 min at a time: 15.0 of "
      "its\n    20.0 GPU hours had none.\n"
      "  it used 0.80 of its 8.00 cores on average: 72.0 of its 80.0 core "
      "hours were\n    unused.\n"
      "  Try: ask for as many GPUs as it computes on, and let it end when it "
      "has done\n       with them.\n"
      "  Try: num_workers=6\n"
      "  Try: #SBATCH --cpus-per-task=7\n"
      "       the loader has too few workers (throughput +40% [30 to 50]).\n"
      "  All of it: penstock report 7\n"
      "\n"
      "No such mails, please: touch ~/.penstock-no-mail\n");
}

TEST_CASE("without advice a mail has the remedy of the worst finding") {
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(mail_on(runs({idle(run_of(7))})).text,
             ContainsSubstring("Try: ask for as many GPUs as it computes on"));
  JobRecord running = idle(run_of(7));
  running.end_unix_s.reset();
  CHECK_THAT(mail_on(runs({running})).text,
             ContainsSubstring("\"train\", running\n") &&
                 ContainsSubstring("Try: end it with scancel"));
  CHECK_THAT(mail_on(runs({starved(run_of(7))})).text,
             ContainsSubstring("Try: its report says what held its data up"));
  CHECK_THAT(mail_on(runs({wide(run_of(7))})).text,
             ContainsSubstring("Try: ask for fewer cores"));
}

TEST_CASE("a mail shows five runs and counts the rest") {
  std::vector<JobRecord> jobs;
  for (uint32_t id = 1; id <= 8; ++id) jobs.push_back(idle(run_of(id)));
  const Mail mail = mail_on(runs(jobs));
  CHECK(mail.subject == "Penstock: 8 of your runs left GPUs or cores idle");
  CHECK_THAT(mail.text, Catch::Matchers::ContainsSubstring("Job 5 ") &&
                            !Catch::Matchers::ContainsSubstring("Job 6 ") &&
                            Catch::Matchers::ContainsSubstring("And 3 more."));
}

TEST_CASE("a job's name adds no line and no control character to a mail") {
  JobRecord job = idle(run_of(7));
  job.name = "x\n.\nTo: all\x1b[2J";
  const Mail mail = mail_on(runs({job}));
  CHECK_THAT(mail.text,
             Catch::Matchers::ContainsSubstring("Job 7 \"x?.?To: all?[2J\""));
  for (const char c : mail.text) CHECK((c == '\n' || (c >= ' ' && c <= '~')));
  // Mailers take such a line for a command, or for the end.
  CHECK(mail.text.find("\n~") == std::string::npos);
  CHECK(mail.text.find("\n.") == std::string::npos);
}
