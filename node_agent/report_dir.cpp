#include "node_agent/report_dir.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "common/admin_file.h"
#include "common/hand_over.h"
#include "common/whole_file.h"

namespace penstock {
namespace {

constexpr uint64_t kDeadline_ms = 10'000;
constexpr int kGive_ms = 5000;
constexpr size_t kMaxMessageBytes = 8192;

// "7.json", "7.2.txt", and unfinished ones: ".7.json.new".
bool is_report(std::string_view name) {
  if (name.starts_with('.') && name.ends_with(".new")) {
    name = name.substr(1, name.size() - 5);
  }
  return (name.ends_with(".json") || name.ends_with(".txt")) &&
         name.find_first_not_of("0123456789.", 0) == name.rfind('.') + 1;
}

}  // namespace

// The child's message is empty if all went well.
Status give_report_dir(const std::string& path, uid_t owner) {
  const std::string what = "ReportDir=" + path;
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error(errno, what);
  const UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return system_error(errno, what);
  if (pid == 0) {
    const Status given = hand_over(path, what, owner, is_report);
    if (!given) (void)write_whole(out.get(), given.error().message);
    ::_exit(0);
  }
  out.reset();
  pollfd ended{in.get(), POLLIN, 0};
  if (::poll(&ended, 1, kGive_ms) != 1) {
    ::kill(pid, SIGKILL);
    return Error{Code::kUnavailable, ETIMEDOUT, what + ": does not answer"};
  }
  std::array<char, kMaxMessageBytes> message;
  const ssize_t size = ::read(in.get(), message.data(), message.size());
  if (size <= 0) return Done{};
  return Error{Code::kPermissionDenied, 0,
               std::string(message.data(), static_cast<size_t>(size))};
}

void check_report_dir(BoundedChildren& children, const std::string& path,
                      std::function<void(const std::string& fault)> callback) {
  ChildWork work;
  work.what = "ReportDir=" + path;
  work.deadline_ms = kDeadline_ms;
  work.max_bytes = kMaxMessageBytes;
  work.body = [&](int out) {
    const Result<UniqueFd> directory = open_admin_directory(path, work.what);
    if (!directory) (void)!write_whole(out, directory.error().message);
  };
  children.start(
      work, [callback = std::move(callback)](const Result<std::string>& fault) {
        callback(fault ? *fault : fault.error().message);
      });
}

}  // namespace penstock
