// Requests from the plugin, jobs and tools.
#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>

#include "common/admin_file.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/options.h"
#include "node_agent/agent.h"
#include "node_agent/job_what_if.h"
#include "node_agent/user_file.h"
#include "report/json.h"

namespace penstock {
namespace {

// Points of a running job's course per reply. --follow asks once a second, and
// writing 4096 points takes milliseconds of penstockd's only thread.
constexpr size_t kMaxLivePoints = 1024;
constexpr size_t kMaxRegisteredThreads = 4096;
constexpr size_t kMaxRanks = 64;  // per task

Answer refuse(int error, std::string text) {
  return {error, std::move(text), {}, {}, true};
}

Answer refuse(const Error& error) {
  const int number = error.saved_errno != 0                  ? error.saved_errno
                     : error.code == Code::kNotFound         ? ENOENT
                     : error.code == Code::kPermissionDenied ? EPERM
                                                             : EINVAL;
  return refuse(number, error.message);
}

Answer silent() { return {0, "", {}, {}, false}; }

// JSON may exceed a packet, so it travels as a sealed memfd.
Answer answer_with(const std::string& text) {
  UniqueFd fd(
      ::memfd_create("penstock-status", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return refuse(errno, "memfd_create failed");
  if (::write(fd.get(), text.data(), text.size()) != ssize_t(text.size())) {
    return refuse(ENOSPC, "no memory for the answer");
  }
  ::fcntl(fd.get(), F_ADD_SEALS,
          F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  Answer answer;
  answer.owned_fds.push_back(std::move(fd));
  return answer;
}

}  // namespace

Answer Agent::handle(const Message& message, const Peer& peer) {
  if (auto* start = std::get_if<penstock_task_start>(&message)) {
    return on_task_start(*start);
  }
  if (auto* exit = std::get_if<penstock_task_exit>(&message)) {
    on_task_exit(*exit);
    return silent();
  }
  if (auto* end = std::get_if<penstock_step_end>(&message)) {
    on_step_end(*end);
    return silent();
  }
  if (auto* end = std::get_if<penstock_job_end>(&message)) {
    on_job_end(end->job_id);
    return silent();
  }
  if (auto* start = std::get_if<penstock_job_start>(&message)) {
    on_job_start(*start);
    return silent();
  }
  if (auto* hello = std::get_if<penstock_hello>(&message)) {
    return on_hello(*hello, peer);
  }
  if (auto* thread = std::get_if<penstock_thread>(&message)) {
    return on_thread(*thread, peer);
  }
  if (auto* wanted = std::get_if<penstock_switch>(&message)) {
    return on_switch(*wanted);
  }
  if (auto* limit = std::get_if<penstock_limit>(&message)) {
    return on_limit(*limit, peer);
  }
  return on_status(std::get<penstock_status>(message), peer);
}

// The task waits for the reply before it execs. Only vacating its CPUs happens
// before the reply; the rest is deferred.
Answer Agent::on_task_start(const penstock_task_start& start) {
  Result<Home> home = machine_.backend.home_of(TaskId{start.pid, 0});
  if (!home) return refuse(home.error());
  Result<Task*> task = registry_.add(start, *home);
  if (!task) return refuse(task.error());
  for (auto& [id, job] : registry_.jobs()) {
    enforcer_.vacate(job, home->affinity);
  }
  const JobId job_id = start.job_id;
  const pid_t pid = start.pid;
  Job& job = *registry_.find_job(job_id);
  if (manages(start.options)) job.managed = true;
  if (job.options.mode == PENSTOCK_MODE_OFF) job.managed = false;
  machine_.loop.defer([this, job_id, pid] {
    Job* started = registry_.find_job(job_id);
    if (started == nullptr || !started->tasks.contains(pid)) return;
    begin_task(*started, started->tasks.at(pid));
    rebalance(GrantCause::kTaskStart);
    save_state();
  });
  return Answer{};
}

void Agent::on_task_exit(const penstock_task_exit& exit) {
  end_task(exit.job_id, exit.pid, exit.exited_ns);
}

void Agent::on_step_end(const penstock_step_end& end) {
  if (end.launch_tasks == 0 || end.launch_ns == 0) return;
  launch_latency_.add_ms(double(end.launch_ns) * 1e-6);
}

// Usually precedes the job's first task, but may follow it.
void Agent::on_job_start(const penstock_job_start& start) {
  accounts_.set(start.job_id, std::string(fixed_text(start.account)));
  if (registry_.find_job(start.job_id) == nullptr) return;
  save_state();
  rebalance(GrantCause::kTaskStart);
}

void Agent::on_job_end(JobId job) {
  finish_job(job);
  accounts_.forget(job);
}

Answer Agent::on_hello(const penstock_hello& hello, const Peer& peer) {
  if (hello.api_version != PENSTOCK_PAGE_VERSION) {
    return refuse(EPROTO, "pages of version " +
                              std::to_string(PENSTOCK_PAGE_VERSION) +
                              " are served; install one release everywhere");
  }
  Result<Registry::Owner> owner = registry_.owner_of(peer.pid);
  if (!owner) return refuse(owner.error());
  if (peer.uid != owner->job->uid) {
    return refuse(EPERM, "this job is another user's");
  }
  if (!owner->job->managed) return refuse(ENOENT, "the job is not managed");
  Task& task = *owner->task;
  Result<Rank*> rank = rank_for(task, peer.pid);
  if (!rank) return refuse(rank.error());
  if (task.greeting_pids.insert(peer.pid).second) {
    mark_for_scan(owner->job->id, task.id.tid);
  }
  // The next sample plans with the new rank. Planning here would let a user
  // make penstockd plan with every message.
  enforcer_.publish_hints(*owner->job);
  Answer answer;
  answer.fds = {(*rank)->pages.progress_fd(), (*rank)->pages.hint_fd()};
  return answer;
}

// A page has one writer at a time. Returns the sender's own page, the page of a
// writer that has ended, or a new one.
Result<Rank*> Agent::rank_for(Task& task, pid_t pid) const {
  Result<TaskId> writer = machine_.proc.identity(pid);
  if (!writer) return std::move(writer).error();
  Rank* free = nullptr;
  for (Rank& rank : task.ranks) {
    if (rank.writer == *writer) return &rank;
    if (!machine_.proc.verify(rank.writer)) free = &rank;
  }
  if (free == nullptr) {
    if (task.ranks.size() >= kMaxRanks) {
      return Error{Code::kLimit, ENOSPC,
                   "64 processes of this task report already"};
    }
    Result<TaskPages> pages = TaskPages::create();
    if (!pages) return std::move(pages).error();
    free = &task.ranks.emplace_back(Rank{*std::move(pages), {}, {}});
  }
  free->writer = *writer;
  free->gone = false;
  return free;
}

// Translates a tid from the sender's pid namespace. -1: the sender has no such
// thread. Without a pid namespace of its own, the tid is the machine's.
pid_t Agent::host_tid(pid_t pid, pid_t tid_in_namespace) const {
  Result<ProcStatus> direct = machine_.proc.status(tid_in_namespace);
  if (direct && direct->tgid == pid && direct->ns_pids.size() <= 1) {
    return tid_in_namespace;
  }
  Result<ProcStatus> sender = machine_.proc.status(pid);
  if (!sender || sender->ns_pids.size() <= 1) return -1;
  Result<std::vector<pid_t>> threads = machine_.proc.threads(pid);
  if (!threads || threads->size() > kMaxRegisteredThreads) return -1;
  for (pid_t tid : *threads) {
    Result<ProcStatus> status = machine_.proc.status(tid);
    if (status && !status->ns_pids.empty() &&
        status->ns_pids.back() == tid_in_namespace) {
      return tid;
    }
  }
  return -1;
}

// Translates a pid from the sender's pid namespace; there, a number says
// nothing about the machine's processes. -1: the task has no such process in
// that namespace.
pid_t Agent::host_pid(const Task& task, pid_t sender_pid,
                      pid_t pid_in_namespace) const {
  Result<ProcStatus> sender = machine_.proc.status(sender_pid);
  if (!sender) return -1;
  const size_t depth = sender->ns_pids.size();
  if (depth <= 1) {
    Result<Registry::Owner> owner = registry_.owner_of(pid_in_namespace);
    return owner && owner->task == &task ? pid_in_namespace : -1;
  }
  const auto space = machine_.proc.pid_namespace(sender_pid);
  const auto below =
      machine_.proc.descendants(task.id.tid, Scanner::kMaxProcesses);
  if (!space || !below) return -1;
  for (pid_t pid : below->pids) {
    Result<ProcStatus> status = machine_.proc.status(pid);
    if (!status || status->ns_pids.size() != depth) continue;
    if (status->ns_pids.back() != pid_in_namespace) continue;
    const auto other = machine_.proc.pid_namespace(pid);
    if (other && *other == *space) return pid;
  }
  return -1;
}

// A process may register its own threads and processes of its task (PyTorch's
// workers), but no others.
Answer Agent::on_thread(const penstock_thread& thread, const Peer& peer) {
  Result<Registry::Owner> owner = registry_.owner_of(peer.pid);
  if (!owner) return refuse(owner.error());
  if (peer.uid != owner->job->uid) {
    return refuse(EPERM, "this job is another user's");
  }
  Task& task = *owner->task;
  pid_t tid = host_tid(peer.pid, thread.tid);
  if (tid < 0) tid = host_pid(task, peer.pid, thread.tid);
  if (tid < 0) {
    return refuse(
        EPERM, "thread " + std::to_string(thread.tid) + " is not of this task");
  }
  if (thread.is_loader == 0) {
    task.registered_tids.erase(tid);
  } else if (task.registered_tids.size() < kMaxRegisteredThreads) {
    task.registered_tids.insert(tid);
  } else {
    return refuse(ENOSPC, "more than 4096 loader threads in one task");
  }
  mark_for_scan(owner->job->id, task.id.tid);
  return Answer{};
}

Answer Agent::on_status(const penstock_status& status, const Peer& peer) {
  if (status.job_id == 0) return answer_with(to_json(node_status(peer)));
  Job* job = registry_.find_job(status.job_id);
  // Both cases get the same reply, so that it reveals nothing about others'
  // jobs.
  if (job == nullptr || !job->managed ||
      (peer.uid != 0 && peer.uid != job->uid)) {
    return refuse(ENOENT, "no such managed job of yours runs here");
  }
  JobReport report = report_of(*job, true);
  report.timeline = coarsened(job->course.points(), kMaxLivePoints);
  report.what_if = what_if_of(*job, report);
  return answer_with(to_json(report));
}

Answer Agent::on_switch(const penstock_switch& wanted) {
  Result<NodeSwitch> done = wanted.off == 1 ? switch_off() : switch_on();
  if (!done) return refuse(done.error());
  return answer_with(to_json(*done));
}

// A name is an admin's file or a built-in profile. A path is the user's file,
// and is read with the user's rights.
void Agent::load_profile(JobId job_id) {
  Job& job = *registry_.find_job(job_id);
  const std::string model(fixed_text(job.options.model));
  if (model.empty() || job.profile) return;
  if (model.find('/') != std::string::npos) {
    const gid_t gid = job.tasks.begin()->second.start.gid;
    read_user_file(
        children_, model, job.uid, gid,
        [this, job_id, model](Result<std::string> text) {
          if (text) use_profile(job_id, *text, model);
          if (text || !registry_.find_job(job_id)) return;
          registry_.find_job(job_id)->note(option_flag(kOptionModel) + ": " +
                                           text.error().message);
        });
    return;
  }
  for (const char* suffix : {".toml", ".json"}) {
    const std::string path = config_.profile_dir + "/" + model + suffix;
    if (auto text = read_admin_file(path)) {
      use_profile(job_id, *text, path);
      return;
    }
  }
  Result<Profile> builtin = builtin_profile(model);
  if (!builtin) {
    job.note(option_flag(kOptionModel) + "=" + model + ": " +
             builtin.error().message);
    return;
  }
  take_profile(job, *builtin);
}

void Agent::take_profile(Job& job, Profile profile) {
  if (profile.describes_job()) {
    JobFeatures& described = profile.job;
    if (described.gpu.empty()) described.gpu = config_.gpu_type;
    if (described.batch_per_gpu == 0)
      described.batch_per_gpu = job.options.batch;
    // A profile's file is read asynchronously: the job's tasks may have ended.
    size_t gpus = 1;
    for (const auto& [id, task] : job.tasks)
      gpus = std::max(gpus, gpu_count(fixed_text(task.start.gpus)));
    described.gpus = static_cast<int>(gpus) * described.nodes;
  }
  if (auto prediction = predict(profile)) {
    job.prior = *std::move(prediction);
  } else {
    job.note(option_flag(kOptionModel) + ": " + prediction.error().message);
  }
  job.profile = std::move(profile);
}

void Agent::use_profile(JobId job_id, const std::string& text,
                        const std::string& file_name) {
  Job* job = registry_.find_job(job_id);
  if (job == nullptr) return;
  Result<Profile> profile = parse_profile(text, file_name);
  if (!profile) {
    job->note(option_flag(kOptionModel) + ": " + profile.error().message);
    return;
  }
  take_profile(*job, *profile);
  rebalance(GrantCause::kTaskStart);
}

}  // namespace penstock
