#include "node_agent/command_lines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "common/clock.h"
#include "common/wire_text.h"

namespace penstock {
namespace {

constexpr size_t kMaxCommandBytes = 4096;
constexpr char kBegun = '.';

// The child's answer: kBegun, and for each process the size (uint16_t) and the
// text. With system calls only: the child inherits a heap of unknown state.
void read_into(int out, const pid_t* pids, size_t count) {
  (void)!::write(out, &kBegun, 1);
  for (size_t i = 0; i < count; ++i) {
    std::array<char, sizeof(uint16_t) + kMaxCommandBytes> answer;
    std::array<char, 32> path;
    std::snprintf(path.data(), path.size(), "/proc/%d/cmdline", pids[i]);
    const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
    const ssize_t got =
        file < 0
            ? 0
            : ::read(file, answer.data() + sizeof(uint16_t), kMaxCommandBytes);
    ::close(file);
    const auto size = static_cast<uint16_t>(std::max<ssize_t>(got, 0));
    std::memcpy(answer.data(), &size, sizeof size);
    if (::write(out, answer.data(), sizeof size + size) < 0) return;
  }
}

// The answer as far as it has come.
struct Answer {
  std::string text;
  bool has_begun = false;
  CommandLines lines;

  // Takes the complete lines from `text`.
  void add(std::string_view block) {
    text += block;
    std::string_view rest = text;
    if (!has_begun && !rest.empty()) {
      has_begun = true;
      rest.remove_prefix(1);
    }
    uint16_t size = 0;
    while (rest.size() >= sizeof size) {
      std::memcpy(&size, rest.data(), sizeof size);
      if (rest.size() < sizeof size + size) break;
      lines.texts.emplace_back(rest.substr(sizeof size, size));
      rest.remove_prefix(sizeof size + size);
    }
    text.erase(0, text.size() - rest.size());
  }
};

}  // namespace

std::string hanging_note() {
  return fmt::format(
      "a process did not show its command line within {} ms; it is a loader "
      "only if its name or libpenstock says so",
      kCommandDeadline_ms);
}

void read_command_lines(BoundedChildren& children, uid_t user,
                        const std::vector<pid_t>& pids,
                        std::function<void(const CommandLines&)> callback) {
  auto answer = std::make_shared<Answer>();
  ChildWork work;
  work.what = "reading command lines";
  work.user = user;
  work.deadline_ms = kCommandDeadline_ms;
  work.body = [&pids](int out) { read_into(out, pids.data(), pids.size()); };
  work.stream = [answer, begun_ns = monotonic_ns()](std::string_view block) {
    answer->add(block);
    return monotonic_ns() - begun_ns < kMostReading_ms * 1'000'000;
  };
  children.start(
      work, [answer, count = pids.size(),
             callback = std::move(callback)](const Result<std::string>& ended) {
        answer->lines.next_hangs = !ended && answer->has_begun &&
                                   ended.error().saved_errno == ETIMEDOUT &&
                                   answer->lines.texts.size() < count;
        callback(answer->lines);
      });
}

std::vector<pid_t> unread_commands(const TaskView& view, uint64_t now_ns,
                                   Task& task) {
  std::map<pid_t, CommandLine> known = std::move(task.commands);
  task.commands.clear();
  for (const ProcessView& process : view.processes) {
    const TaskId id{process.pid, process.starttime_ticks};
    CommandLine command{id, process.comm, now_ns};
    const auto before = known.find(process.pid);
    if (before != known.end() && before->second.process == id) {
      command = std::move(before->second);
    }
    task.commands.emplace(process.pid, std::move(command));
  }
  std::vector<pid_t> unread;
  if (task.hangs >= kMaxHangs) return unread;
  for (const ProcessView& process : view.processes) {
    CommandLine& command = task.commands.at(process.pid);
    if (command.hangs ||
        (command.comm == process.comm &&
         command.read_ns >= command.first_ns + kExecTakes_ns)) {
      continue;
    }
    if (command.comm != process.comm) command.facts = {};
    command.comm = process.comm;
    command.read_ns = 0;
    unread.push_back(process.pid);
  }
  return unread;
}

bool keep_commands(const std::vector<pid_t>& pids, const CommandLines& lines,
                   uint64_t now_ns, Task& task) {
  const std::string_view match = fixed_text(task.start.options.match);
  for (size_t i = 0; i < lines.texts.size(); ++i) {
    const auto known = task.commands.find(pids[i]);
    // An empty name: it has called exec since.
    if (known == task.commands.end() || known->second.comm.empty()) continue;
    known->second.facts = facts_of(lines.texts[i], match);
    known->second.read_ns = now_ns;
  }
  if (!lines.next_hangs) return false;
  const auto known = task.commands.find(pids[lines.texts.size()]);
  if (known == task.commands.end()) return false;
  ++task.hangs;
  known->second.hangs = true;
  return true;
}

void reread_commands(Task& task) {
  for (auto& [pid, command] : task.commands) command.read_ns = 0;
}

void note_exec(pid_t pid, Task& task) {
  const auto known = task.commands.find(pid);
  if (known == task.commands.end()) return;
  known->second.comm.clear();
  known->second.facts = {};
}

void add_commands(const Task& task, TaskView& view) {
  for (ProcessView& process : view.processes) {
    const auto known = task.commands.find(process.pid);
    if (known != task.commands.end()) process.command = known->second.facts;
  }
}

}  // namespace penstock
