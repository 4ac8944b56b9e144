// The envelope of every message between agents, controllers and commands: a
// JSON object, the payload of a credential (docs/protocol.md). Pure: no I/O, no
// clock.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/result.h"

namespace penstock {

// Nodes and controllers are upgraded one by one, so a receiver accepts its own
// version and the one before. A sender learns the peer's versions from the
// first answer. Until then it writes kOldestControllerProtocol, afterwards
// common_version() of the peer's envelopes. Defined in a separate file, so that
// tests can link programs of another version.
extern const uint32_t kControllerProtocol;
extern const uint32_t kOldestControllerProtocol;

// The newest version that both ends know.
inline uint32_t common_version(uint32_t newest_of_peer) {
  return newest_of_peer < kControllerProtocol ? newest_of_peer
                                              : kControllerProtocol;
}

inline constexpr size_t kMaxEnvelopeBytes = 512 << 10;
inline constexpr size_t kMaxTypeBytes = 32;  // a-z, '_'
inline constexpr size_t kMaxNodeBytes = 64;  // printable ASCII, no space

struct Envelope {
  uint32_t version = kOldestControllerProtocol;   // of this message
  uint32_t newest_version = kControllerProtocol;  // that the sender knows
  std::string type;
  std::string node;        // the sender's; a mere claim unless uid is trusted
  uint64_t session = 0;    // nonce of the sender's run, never 0
  uint64_t sequence = 0;   // from 1, rising within the session
  double sent_unix_s = 0;  // by the sender's clock
  nlohmann::json body = nlohmann::json::object();
};

// Invalid UTF-8 is replaced.
// Errors: kInvalidArgument  a field that unpack() would refuse
//         kLimit            over kMaxEnvelopeBytes
[[nodiscard]] Result<std::string> pack(const Envelope& envelope);

// Errors: kInvalidArgument  not an envelope: names the field; a version that
//                           is neither this one nor the one before
//         kLimit            over kMaxEnvelopeBytes, or nested too deep
[[nodiscard]] Result<Envelope> unpack(std::string_view text);

// Numbers the messages of one run of a sender. Not thread-safe.
class Sender {
 public:
  // session: a random number other than 0 (random_session()).
  Sender(std::string node, uint64_t session)
      : node_(std::move(node)), session_(session) {}

  Envelope next(std::string type, nlohmann::json body, double now_unix_s);
  // Learns the peer's versions from one of its envelopes.
  void heard(const Envelope& from_peer) {
    version_ = common_version(from_peer.newest_version);
  }
  // After a reconnect the peer may be another program.
  void met_anew() { version_ = kOldestControllerProtocol; }
  uint64_t session() const { return session_; }

 private:
  std::string node_;
  uint64_t session_;
  uint64_t sequence_ = 0;
  uint32_t version_ = kOldestControllerProtocol;
};

// Admits each message once, in order and fresh. A session is forgotten only
// when all its messages would be too old, so forgetting admits no replay. Not
// thread-safe.
class Guard {
 public:
  struct Limits {
    double max_age_s = 60;
    double max_ahead_s = 60;  // clock skew of a sender ahead of ours
    // Daemons' users share a limit of their own, so that other users cannot
    // crowd out agents.
    std::vector<uid_t> daemons = {0};
    size_t max_sessions_of_daemons = 65536;
    size_t max_sessions_of_user = 256;     // of each other user
    size_t max_sessions_of_users = 16384;  // of all other users
  };

  Guard() : Guard(Limits{}) {}
  explicit Guard(const Limits& limits) : limits_(limits) {}

  // Returns the number of messages lost since the session's last one, or since
  // its begin if the session is not known.
  // uid: the user who sealed the credential. Sessions are kept apart by user,
  // so that no user can block another's session by claiming its node.
  // Errors: kPermissionDenied  a replay or out of order; too old or from the
  //                            future: names the age and the remedy
  //         kLimit             too many sessions at once
  // On error nothing is remembered.
  [[nodiscard]] Result<uint64_t> admit(const Envelope& envelope, uid_t uid,
                                       double now_unix_s);

  size_t sessions() const { return last_.size(); }

 private:
  using Key = std::tuple<uid_t, std::string, uint64_t>;
  struct Last {
    uint64_t sequence = 0;
    double sent_unix_s = 0;
  };

  Status check_age(const Envelope& envelope, double now_unix_s) const;
  Status make_room(uid_t uid, double now_unix_s);
  void forget_old(double now_unix_s);
  size_t sessions_of(uid_t uid) const;
  bool is_daemon(uid_t uid) const;
  size_t sessions_of_daemons() const;

  Limits limits_;
  std::map<Key, Last> last_;
  std::map<uid_t, size_t> sessions_of_user_;
  double swept_unix_s_ = 0;
};

}  // namespace penstock
