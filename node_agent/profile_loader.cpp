#include "node_agent/profile_loader.h"

#include <algorithm>

#include "common/options.h"
#include "common/wire_text.h"
#include "node_agent/plan/gpus.h"
#include "node_agent/site_profile.h"
#include "node_agent/user_file.h"

namespace penstock {
namespace {

// The site's profile, or the built-in one of this name.
Result<Profile> profile_named(const std::string& model,
                              const Result<SiteProfile>& found) {
  if (!found) return found.error();
  if (!found->path.empty()) return parse_profile(found->text, found->path);
  Result<Profile> builtin = builtin_profile(model);
  if (!builtin) return std::move(builtin).error().wrap(model);
  return builtin;
}

}  // namespace

void ProfileLoader::load(Job& job) {
  const std::string model(fixed_text(job.options.model));
  if (model.empty() || job.costs.profile) return;
  if (!reading_.insert(job.id).second) return;
  if (model.find('/') == std::string::npos) {
    read_site_profile(
        children_, node_.config.profile_dir, model, job.uid,
        [this, job_id = job.id, model](const Result<SiteProfile>& found) {
          use(job_id, profile_named(model, found));
        });
    return;
  }
  read_user_file(children_, node_.machine.broker, model, job.uid,
                 job.tasks.begin()->second.id.tid,
                 [this, job_id = job.id, model](Result<std::string> text) {
                   use(job_id, text ? parse_profile(*text, model)
                                    : Result<Profile>(text.error()));
                 });
}

void ProfileLoader::take(Job& job, Profile profile) const {
  if (profile.describes_job()) {
    JobFeatures& described = profile.job;
    if (described.gpu.empty()) described.gpu = node_.config.gpu_type;
    if (described.batch_per_gpu == 0)
      described.batch_per_gpu = job.options.batch;
    // A profile's file is read asynchronously: the job's tasks may have ended.
    size_t gpus = 1;
    for (const auto& [id, task] : job.tasks)
      gpus = std::max(gpus, gpu_numbers(fixed_text(task.start.gpus)).size());
    described.gpus = static_cast<int>(gpus) * described.nodes;
  }
  if (auto prediction = predict(profile)) {
    job.costs.prior = *std::move(prediction);
  } else {
    job.note(option_flag(kOptionModel) + ": " + prediction.error().message);
  }
  job.costs.profile = std::move(profile);
}

void ProfileLoader::use(JobId job_id, Result<Profile> profile) {
  reading_.erase(job_id);
  Job* job = node_.registry.find_job(job_id);
  if (job == nullptr) return;
  if (!profile) {
    job->note(option_flag(kOptionModel) + ": " + profile.error().message);
    return;
  }
  take(*job, *std::move(profile));
  replan_(GrantCause::kTaskStart);
}

}  // namespace penstock
