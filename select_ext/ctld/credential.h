// Credentials: what seals a message between two of Penstock's processes, so
// that the receiver knows who wrote it. A seam; the real ones are munge's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/result.h"

namespace penstock {

inline constexpr uid_t kAnyUid = uid_t(-1);

// An opened credential. uid and gid are those of the process that sealed it,
// vouched for by its own machine's munged.
struct Opened {
  std::string payload;
  uid_t uid = kAnyUid;
  gid_t gid = gid_t(-1);
  int64_t encoded_unix_s = 0;  // by the sender's clock
};

class Credentials {
 public:
  virtual ~Credentials() = default;

  // restrict_uid  the only user who can open it; kAnyUid: everybody
  // ttl_s         how long it can be opened, 1..3600 (munged may allow less)
  [[nodiscard]] virtual Result<std::string> encode(std::string_view payload,
                                                   uid_t restrict_uid,
                                                   int ttl_s) = 0;
  // Each credential can be opened once on one machine.
  [[nodiscard]] virtual Result<Opened> decode(
      const std::string& credential) = 0;
};

// What munge takes; a payload that fits never makes too large a credential.
inline constexpr size_t kMaxPayloadBytes = 640 << 10;
inline constexpr size_t kMaxCredentialBytes = 1 << 20;

// libmunge against a munged of this machine. libmunge 0.5.15 waits for 10 s
// when munged is stopped or hangs, so its calls run in a thread of the
// object's own: a call waits for at most timeout_ms, and while the thread
// still hangs in an earlier one the next fail at once. There is never more than
// one such thread an object, and it goes away by itself when libmunge returns.
//
// Not thread-safe: one object for each thread that needs one.
// Errors of encode() and decode(), all with what to do about it:
//   kUnavailable       munged is not running, or has not answered in time
//   kPermissionDenied  expired, from the future, opened before, meant for
//                      another user, sealed with another key or realm
//   kInvalidArgument   no credential of a kind that munged knows; a bad ttl_s
//   kLimit             over kMaxPayloadBytes or kMaxCredentialBytes
class MungeCredentials final : public Credentials {
 public:
  // socket_path  "": where this machine's munged is
  explicit MungeCredentials(std::string socket_path = "",
                            int timeout_ms = 2000);
  ~MungeCredentials() override;  // never waits for munged
  MungeCredentials(const MungeCredentials&) = delete;
  MungeCredentials& operator=(const MungeCredentials&) = delete;

  [[nodiscard]] Result<std::string> encode(std::string_view payload,
                                           uid_t restrict_uid,
                                           int ttl_s) override;
  [[nodiscard]] Result<Opened> decode(const std::string& credential) override;

 private:
  struct Call;
  struct Worker;
  [[nodiscard]] Status start_worker();
  [[nodiscard]] Status run(const std::shared_ptr<Call>& call);
  Error silent(const std::string& how) const;

  std::string socket_path_;
  int timeout_ms_;
  std::shared_ptr<Worker> worker_;  // shared with its thread
};

// When a refused credential was sealed and looked at; 0: munged did not say.
struct CredentialTimes {
  int64_t encoded_unix_s = 0;
  int64_t decoded_unix_s = 0;
  int ttl_s = 0;
};

// The error for one of libmunge's codes (EMUNGE_*, not EMUNGE_SUCCESS).
//   socket  munged's, for the message
//   detail  libmunge's own words
// Pure.
Error credential_error(int munge_code, const CredentialTimes& times,
                       const std::string& socket, const std::string& detail);

// A number that nobody can guess, never 0: the nonce of one run of a sender.
uint64_t random_session();

}  // namespace penstock
