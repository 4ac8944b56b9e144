#include "tools/penstock/advise_source.h"

#include <unistd.h>

#include <algorithm>

#include "common/units.h"
#include "select_ext/ctld/earlier_runs.h"
#include "tools/advise/accounting.h"
#include "tools/doctor/bounded.h"
#include "tools/penstock/controller_client.h"
#include "tools/penstock/named_profile.h"
#include "tools/penstock/report_job.h"
#include "tools/penstock/slurm_job.h"
#include "wire/history_row.h"

namespace penstock {
namespace {

constexpr int kSlurm_ms = 5000;
constexpr size_t kMostReportsTried = 5;
constexpr size_t kMostRuns = 100;  // the latest

// What Slurm's accounting knows; all unknown without it.
advise::Accounted ask_accounting(uint32_t job_id) {
  std::vector<std::string> words = advise::kSacct;
  words.push_back(std::to_string(job_id));
  const Result<std::string> said = doctor::output_of_program(words, kSlurm_ms);
  return said ? advise::parse_accounting(*said, job_id) : advise::Accounted{};
}

advise::EarlierRun earlier_run(JobReport report, const std::string& state) {
  advise::EarlierRun out;
  const advise::Accounted accounted = ask_accounting(report.job_id);
  const std::string& ended = state.empty() ? accounted.state : state;
  out.is_complete = !report.running && ended == "COMPLETED";
  out.ended_unix_s = report.end_unix_s.value_or(0);
  out.memory_bytes = accounted.memory_bytes;
  out.report = std::move(report);
  return out;
}

// The caller's latest runs of jobs with this name, the latest first.
Result<std::vector<JobRecord>> latest_runs(const advise::Request& request,
                                           const Config& config) {
  ControllerQuery query;
  query.what = ControllerQuery::What::kHistory;
  query.uid = ::getuid();
  query.kind = kinds_of_name(request.job_name);
  query.limit = kMostRuns;
  std::vector<JobRecord> out;
  MungeCredentials credentials(config.munge_socket);
  const Controllers controllers{config.controllers,
                                trust_in_controllers(config)};
  Status asked = ask_pages(controllers, query, credentials,
                           [&](const nlohmann::json& page) {
                             for (const auto& row : page.at("jobs")) {
                               JobRecord run = read_history_row(row);
                               // An older controller tells all jobs.
                               if (run.kind.starts_with(query.kind)) {
                                 out.push_back(std::move(run));
                               }
                             }
                             return 0;
                           });
  if (!asked) return std::move(asked).error();
  return out;
}

}  // namespace

Result<std::vector<advise::NodeGroup>> ask_for_nodes() {
  const Result<std::string> said =
      doctor::output_of_program(advise::kSinfo, kSlurm_ms);
  if (!said) return said.error();
  Result<std::vector<advise::NodeGroup>> nodes = advise::parse_nodes(*said);
  if (!nodes) return Error{Code::kUnavailable, 0, nodes.error().message};
  return nodes;
}

Result<advise::EarlierRun> run_of(const JobNumber& job, const Config& config) {
  Result<JobReport> report = find_report(job, config);
  if (!report) return std::move(report).error();
  const Result<KnownJob> known = ask_slurmctld(job);
  const bool is_it = known && known->id == report->job_id;
  return earlier_run(*std::move(report), is_it ? known->state : "");
}

Result<KnownKind> known_kind(const advise::Request& request,
                             const Config& config) {
  Result<std::vector<JobRecord>> runs = latest_runs(request, config);
  if (!runs) return std::move(runs).error();
  const std::string kind = job_kind(request.job_name, request.command);
  const auto is_other = [&](const JobRecord& run) { return run.kind != kind; };
  KnownKind out;
  if (std::all_of(runs->begin(), runs->end(), is_other)) {
    out.is_of_name_only = true;
  } else {
    std::erase_if(*runs, is_other);
  }
  std::erase_if(*runs, [](const JobRecord& run) { return !run.end_unix_s; });
  out.runs = runs->size();
  if (runs->empty()) {
    return Error{Code::kNotFound, 0,
                 "no managed job of yours with the name " +
                     penstock::quoted(request.job_name) + " has ended yet"};
  }
  for (size_t i = 0; i < std::min(runs->size(), kMostReportsTried); ++i) {
    const JobRecord& run = (*runs)[i];
    const JobNumber number{std::to_string(run.job_id), run.job_id};
    Result<JobReport> report = find_report(number, config);
    if (!report || report->running) continue;
    out.run = earlier_run(*std::move(report), run.state);
    out.run->gpus = int(run.gpus);
    break;
  }
  EarlierRuns earlier;  // in the order in which they ended
  for (auto run = runs->rbegin(); run != runs->rend(); ++run) {
    run->kind = kind;
    earlier.add(*run);
  }
  out.profile = earlier.profile_for(runs->front().uid, kind);
  return out;
}

Result<Profile> profile_of(
    const advise::Request& request,
    const std::optional<std::vector<advise::NodeGroup>>& groups,
    const Config& config) {
  const std::string& name =
      request.model.empty() ? config.submit_model : request.model;
  if (name.empty()) return Error{Code::kNotFound, 0, "it names no profile"};
  Result<Profile> profile = find_profile(name, config);
  if (!profile || !profile->describes_job()) return profile;
  JobFeatures& job = profile->job;
  const std::string type =
      groups ? advise::gpu_type_of(request, *groups) : request.gpu_type;
  if (!type.empty()) job.gpu = type;
  if (job.gpu.empty()) job.gpu = config.gpu_type;
  if (request.batch > 0) job.batch_per_gpu = request.batch;
  job.nodes = request.nodes;
  job.gpus = std::max(1, request.gpus_per_node) * request.nodes;
  return profile;
}

}  // namespace penstock
