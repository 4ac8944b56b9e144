#include "node_agent/requests.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <variant>

#include "common/clock.h"
#include "common/log.h"
#include "common/memfd.h"
#include "common/wire_text.h"
#include "node_agent/process_ids.h"
#include "report/json.h"

namespace penstock {
namespace {

// Points of a running job's course per reply. --follow asks once a second, and
// writing 4096 points takes milliseconds of penstockd's only thread.
constexpr size_t kMaxLivePoints = 1024;
constexpr size_t kMaxRanks = 64;  // per task

Answer silent() { return {0, "", {}, {}, false}; }

// JSON may exceed a packet, so it travels as a sealed memfd.
Answer answer_with(const std::string& text) {
  Result<UniqueFd> fd = create_memfd("penstock-status");
  if (!fd) return refuse(fd.error());
  if (::write(fd->get(), text.data(), text.size()) != ssize_t(text.size())) {
    return refuse(ENOSPC, "no memory for the answer");
  }
  ::fcntl(fd->get(), F_ADD_SEALS,
          F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  Answer answer;
  answer.owned_fds.push_back(*std::move(fd));
  return answer;
}

// A page has one writer at a time. Returns the sender's own page, the page of a
// writer that has ended, or a new one.
Result<Rank*> rank_for(const ProcReader& proc, Task& task, pid_t pid) {
  Result<TaskId> writer = proc.identity(pid);
  if (!writer) return std::move(writer).error();
  Rank* free = nullptr;
  for (Rank& rank : task.ranks) {
    if (rank.writer == *writer) return &rank;
    if (!proc.verify(rank.writer)) free = &rank;
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

}  // namespace

Answer Requests::handle(const Message& message, const Peer& peer) {
  return std::visit([&](const auto& request) { return on(request, peer); },
                    message);
}

// The task waits for the reply before it execs. Only vacating its CPUs, or the
// move of a guest, happens before the reply; the rest waits for the end of the
// turn.
Answer Requests::on(const penstock_task_start& start, const Peer&) {
  Result<Home> home = node_.machine.backend.home_of(TaskId{start.pid, 0});
  if (!home) return refuse(home.error());
  Result<Task*> task = node_.registry.add(start, *home);
  if (!task) return refuse(task.error());
  Job& job = *node_.registry.find_job(start.job_id);
  if (node_.manages(start.options)) job.managed = true;
  if (job.options.mode == PENSTOCK_MODE_OFF) job.managed = false;
  if (job.tasks.size() == 1) (void)node_.settle(job);
  job.managed |= job.guest;
  lifecycle_.welcome(job, **task);
  if (!job.loan.gives_way) {
    for (auto& [id, other] : node_.registry.jobs()) {
      enforcer_.vacate(other, home->affinity);
    }
  }
  lifecycle_.start_task(job, **task);
  Answer answer;
  answer.wants_notice =
      job.managed && node_.config.report_notice != ReportNotice::kOff;
  return answer;
}

Answer Requests::on(const penstock_task_exit& exit, const Peer&) {
  lifecycle_.end_task(exit.job_id, exit.pid, exit.exited_ns);
  return silent();
}

Answer Requests::on(const penstock_step_end& end, const Peer&) {
  if (end.launch_tasks > 0 && end.launch_ns > 0) {
    node_.launch_latency.add_ms(double(end.launch_ns) * 1e-6);
  }
  return silent();
}

// Usually precedes the job's first task, but may follow it.
Answer Requests::on(const penstock_job_start& start, const Peer&) {
  node_.origins.set(start.job_id, {std::string(fixed_text(start.account)),
                                   std::string(fixed_text(start.partition))});
  if (node_.registry.find_job(start.job_id) != nullptr) {
    node_.save_soon();
    off_switch_.look_at_modes();
    rebalancer_.request(GrantCause::kTaskStart);
  }
  return silent();
}

Answer Requests::on(const penstock_job_end& end, const Peer&) {
  lifecycle_.finish_job(end.job_id);
  node_.origins.forget(end.job_id);
  return silent();
}

Answer Requests::on(const penstock_hello& hello, const Peer& peer) {
  if (hello.api_version != PENSTOCK_PAGE_VERSION) {
    return refuse(EPROTO, "pages of version " +
                              std::to_string(PENSTOCK_PAGE_VERSION) +
                              " are served; install one release everywhere");
  }
  Result<Registry::Owner> owner = node_.registry.owner_of(peer.pid);
  if (!owner) return refuse(owner.error());
  if (peer.uid != owner->job->uid) {
    return refuse(EPERM, "this job is another user's");
  }
  if (!owner->job->managed) return refuse(ENOENT, "the job is not managed");
  Greetings& greetings = owner->job->greetings;
  if (hello.unasked != 0 && !node_.config.watch) {
    greetings.refused = true;
    return refuse(EPERM, "Watch=off in penstock.conf");
  }
  Task& task = *owner->task;
  Result<Rank*> rank = rank_for(node_.machine.proc, task, peer.pid);
  if (!rank) return refuse(rank.error());
  (hello.unasked != 0 ? greetings.hook : greetings.program) = true;
  if (task.greeting_pids.insert(peer.pid).second) {
    processes_.mark_for_scan(owner->job->id, task.id.tid);
  }
  // The next sample plans with the new rank. Planning here would let a user
  // make penstockd plan with every message.
  enforcer_.publish_hints(*owner->job);
  Answer answer;
  answer.fds = {(*rank)->pages.progress_fd(), (*rank)->pages.hint_fd()};
  return answer;
}

// A process may register its own threads and processes of its task (PyTorch's
// workers), but no others.
Answer Requests::on(const penstock_thread& thread, const Peer& peer) {
  Result<Registry::Owner> owner = node_.registry.owner_of(peer.pid);
  if (!owner) return refuse(owner.error());
  if (peer.uid != owner->job->uid) {
    return refuse(EPERM, "this job is another user's");
  }
  Task& task = *owner->task;
  const ProcReader& proc = node_.machine.proc;
  pid_t tid = host_tid(proc, peer.pid, thread.tid);
  if (tid < 0) {
    tid = host_pid(proc, node_.registry, task, peer.pid, thread.tid);
  }
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
  processes_.mark_for_scan(owner->job->id, task.id.tid);
  return Answer{};
}

Answer Requests::on(const penstock_status& status, const Peer& peer) {
  if (status.job_id == 0) {
    return answer_with(to_json(reporter_.node_status(peer.uid)));
  }
  const Job* job = node_.registry.find_job(status.job_id);
  // Both cases get the same reply, so that it reveals nothing about others'
  // jobs.
  if (job == nullptr || !job->managed ||
      (peer.uid != 0 && peer.uid != job->uid)) {
    return refuse(ENOENT, "no such managed job of yours runs here");
  }
  return answer_with(
      to_json(reporter_.full_report_of(*job, true, kMaxLivePoints)));
}

Answer Requests::on(const penstock_switch& wanted, const Peer&) {
  Result<NodeSwitch> done =
      wanted.off == 1 ? off_switch_.switch_off() : off_switch_.switch_on();
  if (!done) return refuse(done.error());
  return answer_with(to_json(*done));
}

Answer Requests::on(const penstock_limit& asked, const Peer& peer) {
  return limits_.on_limit(asked, peer);
}

// The step waits for it.
Answer Requests::on(const penstock_notice& asked, const Peer&) {
  lifecycle_.end_task(asked.job_id, asked.pid, asked.exited_ns);
  Answer answer;
  Job* job = node_.registry.find_job(asked.job_id);
  if (job != nullptr) answer.text = reporter_.notice_of(*job);
  return answer;
}

}  // namespace penstock
