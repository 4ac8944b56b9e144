// Authentication between nodes: proves that a process on another node belongs
// to the same user or group. An interface for tests; in use it is munge.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "common/result.h"

namespace penstock {

// Thread-safe. Both functions may block for seconds.
class PeerAuthority {
 public:
  virtual ~PeerAuthority() = default;

  // A credential that carries `claim` and proves this process's identity.
  // Errors: kUnavailable  the authentication service does not answer; kIo
  [[nodiscard]] virtual Result<std::string> seal(const std::string& claim) = 0;
  // The claim in a credential of a process of the same user or of the group.
  // Errors: kPermissionDenied  of another user; too old; opened before
  //         kInvalidArgument  not a credential
  //         kUnavailable, kIo
  [[nodiscard]] virtual Result<std::string> open(
      const std::string& credential) = 0;
};

// Whether an error of open() is local, and so says nothing about the sender.
inline bool is_own_trouble(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kIo;
}

// Munge credentials. Only processes of this user, or of the group's members,
// can open them, and only within a minute.
//   socket  munged's; "": this machine's default
std::shared_ptr<PeerAuthority> munge_authority(
    const std::optional<gid_t>& group, const std::string& socket = "");

// Whether the authority can seal. Waits two seconds at most.
// Errors: kUnavailable  the message says what to do; those of seal()
[[nodiscard]] Status check_authority(
    const std::shared_ptr<PeerAuthority>& authority);

}  // namespace penstock
