// Credentials seal messages between two processes of Penstock and identify the
// sender to the receiver. An interface for tests; production uses munge.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/result.h"

namespace penstock {

inline constexpr uid_t kAnyUid = uid_t(-1);
inline constexpr int kMeantForAnother = EACCES;  // see decode()'s errors

// An opened credential. uid and gid are those of the process that sealed it, as
// its own machine's munged states.
struct Opened {
  std::string payload;
  uid_t uid = kAnyUid;
  gid_t gid = gid_t(-1);
  int64_t encoded_unix_s = 0;  // by the sender's clock
};

class Credentials {
 public:
  virtual ~Credentials() = default;

  // restrict_uid  the only user who can open it; kAnyUid: every user
  // ttl_s         time to live, 1..3600 (munged may allow less)
  [[nodiscard]] virtual Result<std::string> encode(std::string_view payload,
                                                   uid_t restrict_uid,
                                                   int ttl_s) = 0;
  // A credential can be opened only once per machine.
  [[nodiscard]] virtual Result<Opened> decode(
      const std::string& credential) = 0;
};

// munge's limits; a payload within its limit never makes too large a
// credential.
inline constexpr size_t kMaxPayloadBytes = 640 << 10;
inline constexpr size_t kMaxCredentialBytes = 1 << 20;

// Calls libmunge against this machine's munged. libmunge 0.5.15 waits for 10 s
// when munged is stopped or hangs, so calls run in the object's own thread. A
// call waits for timeout_ms at most. While the thread hangs in an earlier call,
// new calls fail at once. An object never has more than one thread; it ends by
// itself once libmunge returns.
//
// Not thread-safe: one object per thread.
// Errors of encode() and decode(), each with a remedy:
//   kUnavailable       munged is not running, or has not answered in time
//   kPermissionDenied  expired, from the future, opened before, sealed with
//                      another key or realm, meant for another user
//                      (this one alone has saved_errno kMeantForAnother)
//   kInvalidArgument   not a credential that munged knows; a bad ttl_s
//   kLimit             over kMaxPayloadBytes or kMaxCredentialBytes
class MungeCredentials final : public Credentials {
 public:
  // socket_path  "": munged's default on this machine
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
  std::shared_ptr<Worker> worker_;  // shared with the thread
};

// Times of a refused credential's sealing and opening; 0: munged gave none.
struct CredentialTimes {
  int64_t encoded_unix_s = 0;
  int64_t decoded_unix_s = 0;
  int ttl_s = 0;
};

// The error for a libmunge code (EMUNGE_* other than EMUNGE_SUCCESS).
//   socket  munged's, for the message
//   detail  libmunge's text
// Pure.
Error credential_error(int munge_code, const CredentialTimes& times,
                       const std::string& socket, const std::string& detail);

// An unguessable number, never 0: the nonce of one run of a sender.
uint64_t random_session();

}  // namespace penstock
