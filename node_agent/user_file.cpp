#include "node_agent/user_file.h"

#include <cerrno>

#include "broker/user_reader.h"

namespace penstock {
namespace {

Result<std::string> interpret(const std::string& text,
                              const std::string& path) {
  if (!text.empty() && text[0] == '=') return text.substr(1);
  if (text.size() == 1 + sizeof(int)) {
    int error = 0;
    text.copy(reinterpret_cast<char*>(&error), sizeof error, 1);
    if (error == EFBIG) {
      return Error{Code::kLimit, error,
                   path + ": not a regular file of at most 64 KiB"};
    }
    return system_error(error, path);
  }
  return Error{Code::kUnavailable, 0, path + ": reading it failed"};
}

}  // namespace

void read_user_file(BoundedChildren& children, const BrokerClient& broker,
                    const std::string& path, uid_t uid, pid_t process,
                    BoundedChildren::Callback callback) {
  ChildWork work;
  work.what = path;
  work.user = uid;
  work.elsewhere = [&](int out) {
    return broker.read_user_file(path, process, uid, out);
  };
  work.deadline_ms = kUserFileDeadline_ms;
  work.max_bytes = 1 + kMaxUserFileBytes;  // the mark of success, and the file
  children.start(work, [path, callback = std::move(callback)](
                           const Result<std::string>& text) {
    callback(text ? interpret(*text, path) : text);
  });
}

}  // namespace penstock
