// How one node's process knows that another's is of the same user. A seam; the
// real one is munge.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "common/result.h"

namespace penstock {

// Thread-safe. Its functions may wait for seconds.
class PeerAuthority {
 public:
  virtual ~PeerAuthority() = default;

  // What shows to others that this process says it.
  // Errors: kUnavailable  whoever seals is not there; kIo
  [[nodiscard]] virtual Result<std::string> seal(const std::string& claim) = 0;
  // What a process of the same user, or of the group, has said.
  // Errors: kPermissionDenied  another user's; too old; opened before
  //         kInvalidArgument  no credential
  //         kUnavailable, kIo
  [[nodiscard]] virtual Result<std::string> open(
      const std::string& credential) = 0;
};

// Of an error of open(): it says nothing about who sealed.
inline bool is_own_trouble(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kIo;
}

// Credentials that only processes of this user, or of a group's members, can
// open, within a minute.
//   socket  munged's; "": where this machine's is
std::shared_ptr<PeerAuthority> munge_authority(
    const std::optional<gid_t>& group, const std::string& socket = "");

// Whether it can seal, within two seconds.
// Errors: kUnavailable  with what to do about it
[[nodiscard]] Status check_authority(
    const std::shared_ptr<PeerAuthority>& authority);

}  // namespace penstock
