#include <grp.h>
#include <munge.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <future>
#include <vector>

#include "common/blocked_thread.h"
#include "loader/peer/peer_authority.h"

namespace penstock {
namespace {

constexpr int kMostAge_s = 60;
constexpr std::chrono::seconds kCheck{2};

struct Context {
  explicit Context(const std::string& socket) : it(munge_ctx_create()) {
    if (it && !socket.empty()) {
      munge_ctx_set(it, MUNGE_OPT_SOCKET, socket.c_str());
    }
  }
  ~Context() {
    if (it) munge_ctx_destroy(it);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  munge_ctx_t it;
};

Error refusal(munge_err_t code, munge_ctx_t context) {
  const char* detail = munge_ctx_strerror(context);
  const std::string text = detail ? detail : munge_strerror(code);
  switch (code) {
    case EMUNGE_SOCKET:
    case EMUNGE_TIMEOUT:
      return {Code::kUnavailable, 0,
              "munged does not answer: " + text +
                  "; start it: systemctl start munge"};
    case EMUNGE_CRED_EXPIRED:
    case EMUNGE_CRED_REWOUND:
    case EMUNGE_CRED_REPLAYED:
    case EMUNGE_CRED_UNAUTHORIZED:
    case EMUNGE_CRED_INVALID:
      return {Code::kPermissionDenied, 0, "munge: " + text};
    case EMUNGE_NO_MEMORY:
      return {Code::kIo, ENOMEM, "munge: " + text};
    default:
      return invalid("munge: " + text);
  }
}

// Whether a user is a member of a group, by the system's user and group
// databases. own: the credential's group.
bool is_in_group(uid_t user, gid_t own, gid_t group) {
  if (own == group) return true;
  std::vector<char> text(64 << 10);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(user, &entry, text.data(), text.size(), &found) != 0 ||
      found == nullptr) {
    return false;
  }
  std::vector<gid_t> groups(4096);
  int count = static_cast<int>(groups.size());
  if (::getgrouplist(entry.pw_name, entry.pw_gid, groups.data(), &count) < 0) {
    return false;
  }
  groups.resize(static_cast<size_t>(count));
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

class MungeAuthority : public PeerAuthority {
 public:
  MungeAuthority(const std::optional<gid_t>& group, std::string socket)
      : group_(group), user_(::geteuid()), socket_(std::move(socket)) {}

  Result<std::string> seal(const std::string& claim) override;
  Result<std::string> open(const std::string& credential) override;

 private:
  Status check(munge_ctx_t context, uid_t user, gid_t group) const;

  const std::optional<gid_t> group_;
  const uid_t user_;
  const std::string socket_;
};

Result<std::string> MungeAuthority::seal(const std::string& claim) {
  const Context context(socket_);
  if (!context.it) return Error{Code::kIo, ENOMEM, "no memory for munge"};
  munge_ctx_set(context.it, MUNGE_OPT_TTL, kMostAge_s);
  if (group_) {
    munge_ctx_set(context.it, MUNGE_OPT_GID_RESTRICTION, *group_);
  } else {
    munge_ctx_set(context.it, MUNGE_OPT_UID_RESTRICTION, user_);
  }
  char* text = nullptr;
  const munge_err_t code =
      munge_encode(&text, context.it, claim.data(), int(claim.size()));
  if (code != EMUNGE_SUCCESS) return refusal(code, context.it);
  std::string sealed = text;
  std::free(text);
  return sealed;
}

Status MungeAuthority::check(munge_ctx_t context, uid_t user,
                             gid_t group) const {
  time_t encoded = 0, decoded = 0;
  munge_ctx_get(context, MUNGE_OPT_ENCODE_TIME, &encoded);
  munge_ctx_get(context, MUNGE_OPT_DECODE_TIME, &decoded);
  // The sender chose the credential's lifetime, so the age is checked here.
  if (decoded - encoded > kMostAge_s) {
    return Error{Code::kPermissionDenied, 0,
                 "a credential of " + std::to_string(decoded - encoded) +
                     " s ago; allowed: " + std::to_string(kMostAge_s)};
  }
  if (group_ ? is_in_group(user, group, *group_) : user == user_) return Done{};
  return Error{Code::kPermissionDenied, 0,
               "a credential of user " + std::to_string(user)};
}

Result<std::string> MungeAuthority::open(const std::string& credential) {
  const Context context(socket_);
  if (!context.it) return Error{Code::kIo, ENOMEM, "no memory for munge"};
  void* data = nullptr;
  int size = 0;
  uid_t user = 0;
  gid_t group = 0;
  const munge_err_t code =
      munge_decode(credential.c_str(), context.it, &data, &size, &user, &group);
  std::string claim;
  if (data != nullptr && size > 0) {
    claim.assign(static_cast<const char*>(data), size_t(size));
  }
  std::free(data);
  if (code != EMUNGE_SUCCESS) return refusal(code, context.it);
  if (Status good = check(context.it, user, group); !good) {
    return std::move(good).error();
  }
  return claim;
}

}  // namespace

std::shared_ptr<PeerAuthority> munge_authority(
    const std::optional<gid_t>& group, const std::string& socket) {
  return std::make_shared<MungeAuthority>(group, socket);
}

// libmunge may hang for 10 s, so a thread calls it and is abandoned after 2 s.
Status check_authority(const std::shared_ptr<PeerAuthority>& authority) {
  auto promise = std::make_shared<std::promise<Status>>();
  auto answer = promise->get_future();
  auto thread = start_blocked_thread([authority, promise] {
    auto sealed = authority->seal("check");
    promise->set_value(sealed ? Status(Done{}) : std::move(sealed).error());
  });
  if (!thread) return std::move(thread).error();
  thread->detach();
  if (answer.wait_for(kCheck) == std::future_status::ready) {
    return answer.get();
  }
  return Error{Code::kUnavailable, ETIMEDOUT,
               "munged does not answer within 2 s; restart it: systemctl "
               "restart munge"};
}

}  // namespace penstock
