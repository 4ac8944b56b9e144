#include "select_ext/job_submit/hook.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "common/wire_text.h"
#include "select_ext/job_submit/job_options.h"
#include "select_ext/job_submit/slurm_job.h"
#include "select_ext/job_submit/state.h"
#include "select_ext/job_submit/tres.h"

namespace penstock::job_submit {
namespace {

// slurmctld's limit
constexpr size_t kMaxCommentBytes = 1023;

// Returns look_up.found. Logs a fault once, and again after the table was valid
// in between.
bool is_found(const LookUp& look_up) {
  State& now = state();
  if (look_up.fault == nullptr)
    now.fault_said = false;
  else if (!now.fault_said.exchange(true))
    slurm_error("penstock: demand table: %s; jobs get no loader GRES",
                look_up.fault);
  return look_up.found;
}

bool find(std::string_view model, ModelDemand& entry) {
  const TableReader& table = state().table;
  return table.is_open() && is_found(table.model(model, entry));
}

bool find(uint32_t job_id, JobDemand& job) {
  const TableReader& table = state().table;
  return table.is_open() && is_found(table.job(job_id, job));
}

bool names_loader_gres(std::string_view list) {
  return names_gres(list, kLoaderCpu) || names_gres(list, kLoaderBw);
}

// For example 3.2 [2.4, 4]
int print_range(char* text, size_t size, const Range& range, double unit) {
  return std::snprintf(text, size, "%.3g [%.3g, %.3g]",
                       static_cast<double>(range.value) / unit,
                       static_cast<double>(range.low) / unit,
                       static_cast<double>(range.high) / unit);
}

// Writes the prediction per GPU into the comment, without unknown figures.
void write_comment(const ModelDemand& demand, job_desc_msg_t& job) {
  const SubmitComment where = state().comment;
  if (where == SubmitComment::kNo) return;
  const std::string_view name = model_name(demand);
  char text[320];
  int length = std::snprintf(text, sizeof text, "penstock: %.*s per GPU",
                             static_cast<int>(name.empty() ? 7 : name.size()),
                             name.empty() ? "default" : name.data());
  const auto add = [&](const Range& range, double unit, const char* what) {
    if (!range.known()) return;
    length += std::snprintf(text + length, sizeof text - length, ", ");
    length += print_range(text + length, sizeof text - length, range, unit);
    length += std::snprintf(text + length, sizeof text - length, " %s", what);
  };
  add(demand.ceiling_milli_samples_per_s, 1000, "samples/s");
  add(demand.millicores, 1000, "loader cores");
  add(demand.bytes_per_s, 1 << 20, "MiB/s");
  char*& field =
      where == SubmitComment::kComment ? job.comment : job.admin_comment;
  append_text(field, "; ", {text, static_cast<size_t>(length)},
              kMaxCommentBytes);
}

// Adds the loaders' needs and the comment. Returns the amounts added.
Amounts add_demand(const OptionSet& asked, const JobRequest& request,
                   job_desc_msg_t& job) {
  const penstock_wire_options& options = asked.options();
  ModelDemand entry;
  const std::string_view model(options.model,
                               strnlen(options.model, sizeof options.model));
  const ModelDemand* demand = find(model, entry) ? &entry : nullptr;
  Amounts amounts;
  // An explicit request of the user takes precedence.
  if (!names_loader_gres(request.tres_per_node))
    amounts = amounts_for(demand, options,
                          ranks_per_node(request, asks_for_management(options)),
                          state().gres);
  const bool silent_steps = steps_need_no_gres(request);
  if (!add_gres(amounts, job))
    amounts = {};
  else if (silent_steps)
    add_variable("SLURM_GRES", "none", job);
  if (demand != nullptr) write_comment(*demand, job);
  return amounts;
}

uint32_t minutes(uint32_t time_limit) {
  return time_limit >= NO_VAL ? 0 : time_limit;
}

Submission submission_of(const job_desc_msg_t& job, const JobRequest& request) {
  Submission it{};
  it.kind = kSubmitted;
  it.uid = job.user_id;
  it.gid = job.group_id;
  it.nodes = nodes_of(request);
  it.tasks_per_node = tasks_per_node_of(request);
  it.gpus_per_node = gpus_per_node_of(request);
  it.cpus_per_task = job.cpus_per_task >= NO_VAL16 ? 0 : job.cpus_per_task;
  it.time_limit_min = minutes(job.time_limit);
  set_printable(it.job_name, text_of(job.name));
  set_printable(it.partition, text_of(job.partition));
  set_printable(it.account, text_of(job.account));
  for (std::string_view list : {request.tres_per_node, request.tres_per_job,
                                request.tres_per_task, request.tres_per_socket})
    if (const auto type = gres_type(list, "gpu"); !type.empty())
      set_printable(it.gpu_type, type);
  return it;
}

void set_amounts(const Amounts& amounts, Submission& it) {
  it.loader_cpu = static_cast<uint32_t>(amounts.loader_cpu);
  it.loader_bw_mib_s = amounts.loader_bw;
}

// The id of the job that an update is for. scontrol sends a number or a text
// such as "17_3". 0: none.
uint32_t updated_job(const job_desc_msg_t& job) {
  const uint32_t number = slurm_release::job_id_of(job);
  if (number != 0 && number < NO_VAL) return number;
  uint64_t id = 0;
  for (const char c : text_of(job.job_id_str)) {
    if (c < '0' || c > '9') break;
    id = id * 10 + static_cast<uint64_t>(c - '0');
    if (id >= NO_VAL) return 0;
  }
  return static_cast<uint32_t>(id);
}

// The needs of an update's GPUs, from penstockctld's figures for the job. A job
// without figures may be unmanaged and is left alone.
Amounts updated_amounts(uint32_t job_id, uint32_t gpus) {
  JobDemand job;
  if (!find(job_id, job)) return {};
  return amounts_for(job.millicores, job.bytes_per_s, gpus, state().gres);
}

}  // namespace

int submit(job_desc_msg_t& job, char** message) {
  const JobRequest request = request_of(job);
  const Result<OptionSet> asked =
      read_options(control_environment_of(job), batch_environment_of(job),
                   request.is_batch, state().limits);
  if (!asked) {
    set_message(message, "penstock: " + asked.error().message);
    return EINVAL;
  }
  const bool managed =
      asks_for_management(asked->options()) ||
      (state().default_auto && asked->options().mode != PENSTOCK_MODE_OFF);
  Submission submission = submission_of(job, request);
  submission.options = asked->options();
  submission.managed = managed ? 1 : 0;
  // A guest takes what is left. A job with a GPU is none.
  const bool is_guest = asked->options().mode == PENSTOCK_MODE_GUEST &&
                        gpus_per_node_of(request) == 0;
  if (managed && !is_guest)
    set_amounts(add_demand(*asked, request, job), submission);
  send_submission(submission);
  return SLURM_SUCCESS;
}

void modify(job_desc_msg_t& job) {
  const JobRequest request = request_of(job);
  const uint32_t gpus =
      static_cast<uint32_t>(gres_count(request.tres_per_node, "gpu"));
  const uint32_t job_id = updated_job(job);
  if (gpus == 0 || job_id == 0 || names_loader_gres(request.tres_per_node))
    return;
  Submission submission = submission_of(job, request);
  const Amounts amounts = updated_amounts(job_id, gpus);
  if (!add_gres(amounts, job)) return;
  submission.kind = kModified;
  submission.job_id = job_id;
  submission.managed = 1;
  set_amounts(amounts, submission);
  send_submission(submission);
}

}  // namespace penstock::job_submit
