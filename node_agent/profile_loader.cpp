#include "node_agent/profile_loader.h"

#include <algorithm>

#include "common/admin_file.h"
#include "common/options.h"
#include "common/wire_text.h"
#include "node_agent/plan/gpus.h"
#include "node_agent/user_file.h"

namespace penstock {

void ProfileLoader::load(Job& job) {
  const std::string model(fixed_text(job.options.model));
  if (model.empty() || job.costs.profile) return;
  if (model.find('/') != std::string::npos) {
    read_user_file(
        children_, node_.machine.broker, model, job.uid,
        job.tasks.begin()->second.id.tid,
        [this, job_id = job.id, model](Result<std::string> text) {
          if (text) use(job_id, *text, model);
          if (text || !node_.registry.find_job(job_id)) return;
          node_.registry.find_job(job_id)->note(option_flag(kOptionModel) +
                                                ": " + text.error().message);
        });
    return;
  }
  for (const char* suffix : {".toml", ".json"}) {
    const std::string path = node_.config.profile_dir + "/" + model + suffix;
    if (auto text = read_admin_file(path)) {
      use(job.id, *text, path);
      return;
    }
  }
  Result<Profile> builtin = builtin_profile(model);
  if (!builtin) {
    job.note(option_flag(kOptionModel) + "=" + model + ": " +
             builtin.error().message);
    return;
  }
  take(job, *builtin);
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
      gpus = std::max(gpus, gpu_count(fixed_text(task.start.gpus)));
    described.gpus = static_cast<int>(gpus) * described.nodes;
  }
  if (auto prediction = predict(profile)) {
    job.costs.prior = *std::move(prediction);
  } else {
    job.note(option_flag(kOptionModel) + ": " + prediction.error().message);
  }
  job.costs.profile = std::move(profile);
}

void ProfileLoader::use(JobId job_id, const std::string& text,
                        const std::string& file_name) {
  Job* job = node_.registry.find_job(job_id);
  if (job == nullptr) return;
  Result<Profile> profile = parse_profile(text, file_name);
  if (!profile) {
    job->note(option_flag(kOptionModel) + ": " + profile.error().message);
    return;
  }
  take(*job, *profile);
  replan_(GrantCause::kTaskStart);
}

}  // namespace penstock
