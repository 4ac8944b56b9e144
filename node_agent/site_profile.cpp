#include "node_agent/site_profile.h"

#include <utility>

#include "common/admin_file.h"
#include "common/whole_file.h"

namespace penstock {
namespace {

constexpr size_t kMaxBytes = size_t{65} * 1024;  // of a file, and its path

// The child's answer is one of
//   "="                  there is none
//   "=" PATH "\n" TEXT
//   "!" MESSAGE
std::string answer_of(const std::string& base) {
  for (const char* suffix : {".toml", ".json"}) {
    const std::string path = base + suffix;
    const Result<std::string> text = read_admin_file(path);
    if (text) return "=" + path + "\n" + *text;
    if (text.error().code != Code::kNotFound) {
      return "!" + text.error().message;
    }
  }
  return "=";
}

Result<SiteProfile> interpret(const std::string& answer,
                              const std::string& base) {
  if (answer.empty()) {
    return Error{Code::kUnavailable, 0, base + ": reading it failed"};
  }
  const std::string rest = answer.substr(1);
  if (answer[0] == '!') return Error{Code::kIo, 0, rest};
  const size_t end = rest.find('\n');
  if (end == std::string::npos) return SiteProfile{};
  return SiteProfile{rest.substr(0, end), rest.substr(end + 1)};
}

}  // namespace

void read_site_profile(BoundedChildren& children, const std::string& directory,
                       const std::string& name, uid_t user,
                       std::function<void(Result<SiteProfile>)> callback) {
  const std::string base = directory + "/" + name;
  ChildWork work;
  work.what = base;
  work.user = user;
  work.body = [base](int out) { (void)write_whole(out, answer_of(base)); };
  work.deadline_ms = kSiteProfileDeadline_ms;
  work.max_bytes = kMaxBytes;
  children.start(work, [base, callback = std::move(callback)](
                           const Result<std::string>& answer) {
    callback(answer ? interpret(*answer, base)
                    : Result<SiteProfile>(answer.error()));
  });
}

}  // namespace penstock
