// Converts libslurm's jobs and nodes to ours. The only file here that includes
// its header.
#include "select_ext/ctld/slurm_api.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>

#include "common/slurm_release.h"
#include "select_ext/ctld/slurm_jobs.h"

namespace penstock {
namespace {

std::string text_of(const char* text) { return text ? text : ""; }

// nullopt for Slurm's NO_VAL ("not set") and INFINITE.
std::optional<uint32_t> number_of(uint32_t value) {
  if (value == NO_VAL || value == INFINITE) return std::nullopt;
  return value;
}

SlurmPhase phase_of(uint32_t state) {
  switch (state & JOB_STATE_BASE) {
    case JOB_PENDING:
      return SlurmPhase::kWaiting;
    case JOB_RUNNING:
      return state & (JOB_CONFIGURING | JOB_POWER_UP_NODE)
                 ? SlurmPhase::kWaiting
                 : SlurmPhase::kRunning;
    case JOB_SUSPENDED:
      return SlurmPhase::kSuspended;
    default:
      return SlurmPhase::kEnded;
  }
}

const char* state_name(uint32_t state) {
  static constexpr const char* kNames[] = {
      "PENDING",   "RUNNING",   "SUSPENDED", "COMPLETED",
      "CANCELLED", "FAILED",    "TIMEOUT",   "NODE_FAIL",
      "PREEMPTED", "BOOT_FAIL", "DEADLINE",  "OUT_OF_MEMORY"};
  static_assert(std::size(kNames) == JOB_END);
  const uint32_t base = state & JOB_STATE_BASE;
  return base < JOB_END ? kNames[base] : "UNKNOWN";
}

void add_array_and_het(const slurm_job_info_t& in, SlurmJob& job) {
  if (in.array_job_id != 0) {
    job.array_job_id = in.array_job_id;
    job.array_task_id = number_of(in.array_task_id);
  }
  if (in.het_job_id != 0) {
    job.het_job_id = in.het_job_id;
    job.het_offset = number_of(in.het_job_offset);
  }
}

SlurmJob job_of(const slurm_job_info_t& in) {
  SlurmJob job;
  job.job_id = in.job_id;
  job.restart_count = in.restart_cnt;
  add_array_and_het(in, job);
  job.uid = in.user_id;
  job.user = text_of(in.user_name);
  job.account = text_of(in.account);
  job.name = text_of(in.name);
  job.command = text_of(in.command);
  job.phase = phase_of(in.job_state);
  job.state = state_name(in.job_state);
  job.nodes = text_of(in.nodes);
  job.node_count = number_of(in.num_nodes).value_or(0);
  job.cpus = number_of(in.num_cpus).value_or(0);
  job.tasks = number_of(in.num_tasks).value_or(0);
  job.gpus = gpus_of_gres(text_of(in.gres_total));
  job.gres_per_node = text_of(in.tres_per_node);
  job.submit_unix_s = in.submit_time;
  job.start_unix_s = in.start_time;
  job.end_unix_s = in.end_time;
  return job;
}

// A site may count cores as CPUs, but the kernel counts hardware threads.
uint32_t hardware_threads(const node_info_t& in) {
  const uint32_t threads = uint32_t(in.sockets) * in.cores * in.threads;
  return std::max<uint32_t>(in.cpus, threads);
}

// Its type has another name in later releases.
using Users = decltype(assoc_mgr_info_msg_t::user_list);

std::set<uint32_t> operators_among(Users list) {
  std::set<uint32_t> operators;
  auto* users = slurm_list_iterator_create(list);
  while (const void* next = slurm_list_next(users)) {
    const auto& user = *static_cast<const slurmdb_user_rec_t*>(next);
    if (user.admin_level >= SLURMDB_ADMIN_OPERATOR && user.uid != NO_VAL) {
      operators.insert(user.uid);
    }
  }
  slurm_list_iterator_destroy(users);
  return operators;
}

class LibSlurm final : public SlurmApi {
 public:
  LibSlurm() { slurm_init(nullptr); }
  ~LibSlurm() override { slurm_fini(); }

  Result<std::optional<std::vector<SlurmJob>>> load_jobs() override {
    job_info_msg_t* message = nullptr;
    if (slurm_load_jobs(jobs_asked_, &message, SHOW_ALL | SHOW_DETAIL) != 0) {
      return failed<SlurmJob>("jobs");
    }
    std::vector<SlurmJob> jobs;
    jobs.reserve(message->record_count);
    for (uint32_t i = 0; i < message->record_count; ++i) {
      jobs.push_back(job_of(message->job_array[i]));
    }
    jobs_asked_ = message->last_update;
    slurm_free_job_info_msg(message);
    return std::optional(std::move(jobs));
  }

  Result<std::optional<std::vector<SlurmNode>>> load_nodes() override {
    node_info_msg_t* message = nullptr;
    if (slurm_load_node(nodes_asked_, &message, SHOW_ALL) != 0) {
      return failed<SlurmNode>("nodes");
    }
    std::vector<SlurmNode> nodes;
    for (uint32_t i = 0; i < message->record_count; ++i) {
      const node_info_t& in = message->node_array[i];
      if (!in.name) continue;  // a free slot of slurmctld's table
      nodes.push_back({in.name, hardware_threads(in)});
    }
    nodes_asked_ = message->last_update;
    slurm_free_node_info_msg(message);
    return std::optional(std::move(nodes));
  }

  Result<std::set<uint32_t>> load_operators() override {
    assoc_mgr_info_request_msg_t request{};
    request.flags = ASSOC_MGR_INFO_FLAG_USERS;
    assoc_mgr_info_msg_t* message = nullptr;
    if (slurm_load_assoc_mgr_info(&request, &message) != 0) {
      return not_told("users", errno);
    }
    // Without accounting there is no list.
    std::set<uint32_t> operators;
    if (message->user_list) operators = operators_among(message->user_list);
    slurm_free_assoc_mgr_info_msg(message);
    return operators;
  }

  Result<SlurmSite> load_site() override {
    slurm_conf_t* conf = nullptr;
    if (slurm_load_ctl_conf(0, &conf) != 0) {
      return not_told("configuration", errno);
    }
    SlurmSite site{text_of(conf->cluster_name), conf->slurm_user_id};
    slurm_release::free_conf(conf);
    return site;
  }

 private:
  static Error not_told(const char* what, int error) {
    return Error{Code::kUnavailable, 0,
                 std::string("slurmctld does not tell its ") + what + ": " +
                     slurm_strerror(error)};
  }

  template <class T>
  static Result<std::optional<std::vector<T>>> failed(const char* what) {
    const int error = errno;
    if (error == SLURM_NO_CHANGE_IN_DATA) {
      return std::optional<std::vector<T>>();
    }
    return not_told(what, error);
  }

  time_t jobs_asked_ = 0;
  time_t nodes_asked_ = 0;
};

}  // namespace

Result<std::unique_ptr<SlurmApi>> make_slurm_api() {
  const char* given = std::getenv("SLURM_CONF");
  const std::string path = given ? given : "/etc/slurm/slurm.conf";
  // libslurm would exit the process.
  if (::access(path.c_str(), R_OK) != 0) {
    return system_error(errno, path);
  }
  return std::unique_ptr<SlurmApi>(std::make_unique<LibSlurm>());
}

}  // namespace penstock
