// Callbacks in slurmstepd. After any failure the job runs as without Penstock.
#include <cstdio>

#include "spank_plugin/gpu_list.h"
#include "spank_plugin/hooks.h"
#include "spank_plugin/messages.h"
#include "spank_plugin/python_path.h"
#include "spank_plugin/step_groups.h"

namespace penstock::spank {
namespace {

constexpr uid_t kRoot = 0;
constexpr uint32_t kExternStep = 0xfffffffc;  // SLURM_EXTERN_CONT
constexpr uint64_t kNsPerMs = 1000000;
constexpr size_t kMaxTextBytes = 4096;  // of a longer one nothing is told
constexpr size_t kMaxPythonPathBytes = 32768;  // a longer one stays as it is

template <class Value>
Value item(spank_t spank, spank_item_t which, Value fallback) {
  Value value = fallback;
  return spank_get_item(spank, which, &value) == ESPANK_SUCCESS ? value
                                                                : fallback;
}

template <size_t N>
bool job_variable(spank_t spank, const char* name, char (&buffer)[N]) {
  return spank_getenv(spank, name, buffer, N) == ESPANK_SUCCESS;
}

template <class Message>
void set_step(spank_t spank, Message& message) {
  message.job_id = item<uint32_t>(spank, S_JOB_ID, 0);
  message.step_id = item<uint32_t>(spank, S_JOB_STEPID, 0);
}

template <class Message>
void send(const Message& message, const char* what) {
  const Outcome outcome = send_message(state().settings.socket_path, kRoot,
                                       &message, sizeof message);
  if (outcome != Outcome::kDone)
    slurm_debug("penstock: %s not sent: %s", what, outcome_text(outcome));
}

// `sbatch --export=NONE` keeps only SLURM_* variables, including this copy of
// the flag. Slurm before 23.11 loses the other copy.
void take_kept_flag(spank_t spank, int index) {
  char name[96];
  std::snprintf(name, sizeof name, "SLURM_SPANK_%s",
                option_spec(index).slurm_variable);
  char value[sizeof(penstock_wire_options::model)];
  if (job_variable(spank, name, value)) take_flag(index, value, 1);
}

void take_variable(spank_t spank, int index) {
  char value[sizeof(penstock_wire_options::model)];
  if (!job_variable(spank, option_spec(index).variable, value)) return;
  const Status status =
      state().asked.apply_variable(index, value, state().settings.limits);
  if (!status)
    slurm_info("penstock: left out: %s", status.error().message.c_str());
}

// The flag's text is a relative path, which is invalid in this process.
void take_model_path(spank_t spank) {
  char path[sizeof(penstock_wire_options::model)];
  if (job_variable(spank, kModelPathVariable, path) && path[0] == '/')
    take_flag(kOptionModel, path, 1);
}

// The job's loaders read these options from their variables, also if the user
// gave the flags.
void set_kept_variables(spank_t spank) {
  const State& now = state();
  for (int index : {kOptionShare, kOptionElastic}) {
    const char* value = value_for_job(index, now.asked.options());
    if (index == kOptionElastic && value[0] == '\0' &&
        asks_for_watching(now.asked.options()))
      value = now.settings.elastic;
    if (value[0] != '\0')
      spank_setenv(spank, option_spec(index).variable, value, 1);
  }
}

// Lets the job's Python interpreters find the hook that measures their loaders.
void lead_python_to_hook(spank_t spank) {
  State& now = state();
  if (!asks_for_watching(now.asked.options())) return;
  static char path[kMaxPythonPathBytes];
  const spank_err_t found =
      spank_getenv(spank, "PYTHONPATH", path, sizeof path);
  if (found == ESPANK_ENV_NOEXIST)
    path[0] = '\0';
  else if (found != ESPANK_SUCCESS)
    return;
  spank_setenv(spank, "PYTHONPATH", led_by(now.settings.hook_dir, path).c_str(),
               1);
}

penstock_task_start make_task_start(spank_t spank) {
  const State& now = state();
  auto message =
      make_message<penstock_task_start>(PENSTOCK_TASK_START, now.launch_tasks);
  set_step(spank, message);
  message.task_id = item<uint32_t>(spank, S_TASK_GLOBAL_ID, 0);
  message.uid = item<uid_t>(spank, S_JOB_UID, 0);
  message.gid = item<gid_t>(spank, S_JOB_GID, 0);
  message.pid = item<pid_t>(spank, S_TASK_PID, 0);
  message.options = now.asked.options();
  char text[kMaxTextBytes];
  // Without Slurm's plugin the variables are the user's.
  if (is_loaded("gres_gpu.so") &&
      job_variable(spank, gpu_variable(message.step_id), text))
    set_field(message.gpus, text);
  if (job_variable(spank, "SLURM_JOB_NAME", text))
    set_utf8(message.job_name, text);
  return message;
}

void log_start(const penstock_task_start& message, Outcome outcome,
               const penstock_reply& reply) {
  if (outcome == Outcome::kAbsent)
    slurm_debug("penstock: %s", outcome_text(outcome));
  else if (outcome != Outcome::kDone)
    slurm_info("penstock: task %u of %u.%u runs without Penstock: %s",
               message.task_id, message.job_id, message.step_id,
               outcome_text(outcome));
  else if (reply.status != 0)
    slurm_info("penstock: task %u of %u.%u: %.*s", message.task_id,
               message.job_id, message.step_id,
               static_cast<int>(sizeof reply.text), reply.text);
}

}  // namespace

int finish_step_options(spank_t spank) {
  State& now = state();
  now.budget.left_ns = now.settings.timeout_ms * kNsPerMs;
  for (int i = 0; i < kOptionCount; ++i) {
    if (!now.asked.has_flag(i)) take_kept_flag(spank, i);
    take_variable(spank, i);
  }
  if (now.asked.has_relative_model()) take_model_path(spank);
  // The path is this step's only; the job's own sruns must not inherit it.
  spank_unsetenv(spank, kModelPathVariable);
  if (now.asked.has_relative_model()) {
    slurm_info("penstock: left out: model %s: not an absolute path",
               now.asked.options().model);
    now.asked.set_model("");
  }
  set_kept_variables(spank);
  // libpenstock needs the path of a non-default socket.
  if (std::string_view(now.settings.socket_path) != PENSTOCK_SOCKET_PATH)
    spank_setenv(spank, "PENSTOCK_SOCKET", now.settings.socket_path, 0);
  lead_python_to_hook(spank);
  return 0;
}

int announce_task(spank_t spank) {
  State& now = state();
  // The extern step (for adopted processes) has no task.
  if (item<pid_t>(spank, S_TASK_PID, 0) <= 0) return 0;
  const LaunchTimer timer;
  ++now.launch_tasks;
  penstock_task_start message = make_task_start(spank);
  message.callback_ns = now.launch_ns + timer.elapsed_ns();
  penstock_reply reply{};
  const Outcome outcome = request(now.settings.socket_path, kRoot, &message,
                                  sizeof message, now.budget, reply);
  log_start(message, outcome, reply);
  now.wants_notice |= outcome == Outcome::kDone && reply.wants_notice == 1;
  return 0;
}

// Prints penstockd's line on the ended job, if there is one, to the job's
// stderr, as slurmstepd prints its own errors.
void print_notice(const penstock_task_exit& ended) {
  State& now = state();
  auto message = make_message<penstock_notice>(PENSTOCK_NOTICE);
  message.job_id = ended.job_id;
  message.pid = ended.pid;
  message.exited_ns = ended.exited_ns;
  penstock_reply reply{};
  const Outcome outcome = request(now.settings.socket_path, kRoot, &message,
                                  sizeof message, now.budget, reply);
  if (outcome != Outcome::kDone || reply.status != 0) return;
  char line[sizeof reply.text];
  set_printable(line, fixed_text(reply.text));
  if (line[0] != '\0')
    slurm_spank_log("%.*s", static_cast<int>(sizeof line), line);
}

// Whether all of the step's tasks on its first node have ended.
bool is_last_here(spank_t spank) {
  return item<uint32_t>(spank, S_JOB_NODEID, 1) == 0 &&
         state().exited_tasks ==
             item<uint32_t>(spank, S_JOB_LOCAL_TASK_COUNT, 0);
}

int announce_task_exit(spank_t spank) {
  auto message = make_message<penstock_task_exit>(PENSTOCK_TASK_EXIT);
  message.exited_ns = monotonic_ns();
  set_step(spank, message);
  message.task_id = item<uint32_t>(spank, S_TASK_GLOBAL_ID, 0);
  message.pid = item<pid_t>(spank, S_TASK_PID, 0);
  if (message.pid <= 0) return 0;
  send(message, "the task's exit");
  ++state().exited_tasks;
  if (state().wants_notice && is_last_here(spank)) print_notice(message);
  return 0;
}

int announce_step_end(spank_t spank) {
  if (const int removed = remove_own_step_groups(); removed > 0)
    slurm_debug("penstock: %d groups of the step removed", removed);
  auto message = make_message<penstock_step_end>(PENSTOCK_STEP_END);
  set_step(spank, message);
  if (message.step_id == kExternStep) return 0;
  message.launch_ns = state().launch_ns;
  message.launch_tasks = state().launch_tasks;
  send(message, "the step's end");
  return 0;
}

int announce_job_end(spank_t spank) {
  auto message = make_message<penstock_job_end>(PENSTOCK_JOB_END);
  message.job_id = item<uint32_t>(spank, S_JOB_ID, 0);
  send(message, "the job's end");
  return 0;
}

}  // namespace penstock::spank
