// Explains munge's refusals, each with a remedy.
#include <munge.h>

#include "common/units.h"
#include "link/credential.h"

namespace penstock {
namespace {

Error denied(std::string message) {
  return Error{Code::kPermissionDenied, 0, std::move(message)};
}

std::string seconds(int64_t count) { return std::to_string(count) + " s"; }

Error expired(const CredentialTimes& times) {
  const int64_t age_s = times.decoded_unix_s - times.encoded_unix_s;
  return denied("the credential has expired: it is " + seconds(age_s) +
                " old by the clocks of both machines, allowed are " +
                seconds(times.ttl_s) +
                "; either it was held up, or the sender's clock is behind this "
                "machine's by up to " +
                seconds(age_s) + ": synchronise the clocks (chrony or NTP)");
}

Error rewound(const CredentialTimes& times) {
  return denied("the credential is from the future: the sender's clock is " +
                seconds(times.encoded_unix_s - times.decoded_unix_s) +
                " ahead of this machine's; synchronise the clocks (chrony or "
                "NTP)");
}

Error unreachable(const std::string& socket, const std::string& detail) {
  return Error{Code::kUnavailable, 0,
               "munged at " + socket + " cannot be reached (" +
                   printable(detail, 200) +
                   "); start it: systemctl start munge"};
}

}  // namespace

Error credential_error(int munge_code, const CredentialTimes& times,
                       const std::string& socket, const std::string& detail) {
  switch (munge_code) {
    case EMUNGE_SOCKET:
    case EMUNGE_TIMEOUT:
      return unreachable(socket, detail);
    case EMUNGE_CRED_EXPIRED:
      return expired(times);
    case EMUNGE_CRED_REWOUND:
      return rewound(times);
    case EMUNGE_CRED_REPLAYED:
      return denied(
          "the credential was opened before on this machine: a message was "
          "sent twice or copied; nothing is to be done unless this repeats, "
          "then somebody replays the network's traffic");
    case EMUNGE_CRED_UNAUTHORIZED:
      return Error{Code::kPermissionDenied, kMeantForAnother,
                   "the credential is meant for another user to open"};
    case EMUNGE_CRED_INVALID:
      return denied(
          "the credential was sealed with another key, or altered on its way; "
          "every machine of the cluster needs the same /etc/munge/munge.key");
    case EMUNGE_BAD_REALM:
      return denied(
          "the credential's security realm is not known here; machines that "
          "talk to each other need one realm and the same "
          "/etc/munge/munge.key");
    case EMUNGE_BAD_LENGTH:
    case EMUNGE_OVERFLOW:
      return Error{Code::kLimit, 0, "the message is too large for munge"};
    case EMUNGE_BAD_CRED:
    case EMUNGE_BAD_VERSION:
    case EMUNGE_BAD_CIPHER:
    case EMUNGE_BAD_MAC:
    case EMUNGE_BAD_ZIP:
    case EMUNGE_BAD_ARG:
      return invalid("not a credential that this machine's munged knows (" +
                     printable(detail, 200) +
                     "); the sender needs a munge with the same ciphers");
    default:
      return Error{Code::kUnavailable, 0,
                   "munge fails (" + printable(detail, 200) +
                       "); its log says more: journalctl -u munge"};
  }
}

}  // namespace penstock
