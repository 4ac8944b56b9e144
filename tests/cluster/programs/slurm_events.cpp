// Prints what SlurmPoller tells of the cluster of $SLURM_CONF, a JSON line for
// each event or remark, until its standard input ends.
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "select_ext/ctld/slurm_poller.h"

namespace {

using nlohmann::json;
using penstock::SlurmEvent;
using penstock::SlurmPoller;

const char* name_of(SlurmEvent::Kind kind) {
  switch (kind) {
    case SlurmEvent::Kind::kStarted:
      return "started";
    case SlurmEvent::Kind::kEnded:
      return "ended";
    case SlurmEvent::Kind::kRequeued:
      return "requeued";
    case SlurmEvent::Kind::kResized:
      return "resized";
    case SlurmEvent::Kind::kSuspended:
      return "suspended";
    case SlurmEvent::Kind::kResumed:
      return "resumed";
    case SlurmEvent::Kind::kNodeCpus:
      return "node";
  }
  return "?";
}

template <class T>
json value_of(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

json json_of(const SlurmEvent& event) {
  const penstock::SlurmJob& job = event.job;
  return {{"event", name_of(event.kind)},
          {"node", event.node.name},
          {"node_cpus", event.node.cpus},
          {"job", job.job_id},
          {"restart_count", job.restart_count},
          {"array_job", value_of(job.array_job_id)},
          {"array_task", value_of(job.array_task_id)},
          {"het_job", value_of(job.het_job_id)},
          {"het_offset", value_of(job.het_offset)},
          {"uid", job.uid},
          {"account", job.account},
          {"name", job.name},
          {"command", job.command},
          {"state", job.state},
          {"nodes", job.nodes},
          {"node_count", job.node_count},
          {"cpus", job.cpus},
          {"tasks", job.tasks},
          {"gpus", job.gpus},
          {"submit", job.submit_unix_s},
          {"start", job.start_unix_s},
          {"end", job.end_unix_s}};
}

void print(const json& line) {
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

}  // namespace

int main() {
  auto poller = SlurmPoller::start(penstock::make_slurm_api);
  if (!poller) return 1;
  while (true) {
    pollfd waits[] = {{(*poller)->ready_fd(), POLLIN, 0},
                      {STDIN_FILENO, POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0) return 1;
    if (waits[1].revents) return 0;
    const SlurmPoller::News news = (*poller)->take();
    for (const std::string& text : news.remarks) print({{"remark", text}});
    for (const SlurmEvent& event : news.events) print(json_of(event));
  }
}
