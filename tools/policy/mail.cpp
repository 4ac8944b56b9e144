#include "tools/policy/mail.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "common/units.h"
#include "report/text.h"

namespace penstock::policy {
namespace {

constexpr int kWidth = 78;

// Where the report does not help.
const char* remedy_of(Waste waste, bool is_running) {
  switch (waste) {
    case Waste::kIdleGpus:
      return is_running ? "end it with scancel if it has done with its GPUs"
                        : "ask for as many GPUs as it computes on, and let it "
                          "end when it has done with them";
    case Waste::kInputBound:
      return "its report says what held its data up";
    case Waste::kUnusedCores:
      return "ask for fewer cores with --cpus-per-task";
  }
  return "";
}

void add_run(const MailedRun& run, Page& page) {
  const JobRecord& job = run.findings.front().job;
  page.line("");
  page.line(fmt::format(
      "Job {} \"{}\", {}", job_label(job), printable(job.name, 40),
      job.end_unix_s ? "ended " + date_text(*job.end_unix_s) : "running"));
  for (const Finding& it : run.findings) {
    page.line("  " + finding_text(it) + ".", 4);
  }
  const Finding& worst = run.findings.front();
  // A report advises on what limits the job, not on GPUs that it does not use.
  const bool has_idle_gpus = std::any_of(
      run.findings.begin(), run.findings.end(),
      [](const Finding& it) { return it.waste == Waste::kIdleGpus; });
  if (has_idle_gpus || run.advice.empty()) {
    const Waste waste = has_idle_gpus ? Waste::kIdleGpus : worst.waste;
    page.line(fmt::format("  Try: {}.", remedy_of(waste, !job.end_unix_s)), 7);
  }
  for (const Recommendation& it : run.advice) {
    for (const std::string& line : it.lines) page.line("  Try: " + line, 7);
    page.line("       " + it.reason +
                  (it.gain ? " (" + gain_text(*it.gain) + ")" : "") + ".",
              7);
  }
  page.line(fmt::format("  All of it: penstock report {}", job.job_id), 4);
}

}  // namespace

std::vector<MailedRun> runs_of(const UserFindings& user) {
  using Key = std::tuple<std::string, uint32_t, uint32_t, double>;
  std::map<Key, size_t> places;
  std::vector<MailedRun> runs;
  for (const Finding& it : user.findings) {
    const JobRecord& job = it.job;
    const auto [place, is_new] = places.try_emplace(
        Key{job.cluster, job.job_id, job.restart_count, job.submit_unix_s},
        runs.size());
    if (is_new) runs.emplace_back();
    runs[place->second].findings.push_back(it);
  }
  return runs;
}

Mail compose(const std::string& to, const std::vector<MailedRun>& runs,
             double since_unix_s) {
  TextStyle style;
  style.width = kWidth;
  Page page(style);
  page.line(fmt::format(
                "These runs of yours, seen since {}, left GPUs or cores idle. "
                "Nothing was done to them.",
                date_text(since_unix_s)),
            0);
  for (size_t i = 0; i < std::min(runs.size(), kMailedRuns); ++i) {
    add_run(runs[i], page);
  }
  page.line("");
  if (runs.size() > kMailedRuns) {
    page.line(fmt::format("And {} more. Your runs in one table: penstock "
                          "report --user",
                          runs.size() - kMailedRuns),
              0);
    page.line("");
  }
  page.line(fmt::format("No such mails, please: touch ~/{}", kNoMailFile), 0);
  return {to,
          fmt::format("Penstock: {} of your runs left GPUs or cores idle",
                      runs.size()),
          page.take()};
}

}  // namespace penstock::policy
