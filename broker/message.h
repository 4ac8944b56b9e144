// The messages between penstockd and its broker, penstock-broker: one datagram
// a request, one a reply, over a SOCK_SEQPACKET socket. Both programs are of
// the same release. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/result.h"

namespace penstock {

// What the broker does for penstockd. Its rules: broker/rules.h.
enum class Verb : uint32_t {
  kMakeGroup,        // path
  kRemoveGroup,      // path
  kWriteControl,     // path: of a control file; data: its text
  kCheckControl,     // path: of a control file; may it be written?
  kMove,             // path: of a list of threads or processes; id: the thread
  kReadMark,         // path, name -> data
  kWriteMark,        // path, name, data
  kRemoveMark,       // path, name
  kSetAffinity,      // id: thread; data: its CPUs, one bit each; empty: all
  kSetPolicy,        // id: thread; numbers: policy, priority
  kPidNamespace,     // id: process -> number: inode of its pid namespace
  kOpenProcEvents,   // -> descriptor: socket with process events
  kListen,           // -> descriptor: socket that listens at SocketPath
  kStopListening,    // removes that socket
  kGiveDirectories,  // StateDir and ReportDir of root's, to AgentUser
  kSweepCaches,      // numbers: seconds to keep, time -> number: removed
  // A child does these, and answers through the last descriptor, a pipe:
  kReadUserFile,   // path; id: a process of the user; number: user
  kWriteMetrics,   // path: MetricsFile; first descriptor: its text
  kRemoveMetrics,  // path
  kLookAtReads,    // number: user; data: processes of it, an int32_t each
  kCount,
};

inline constexpr size_t kMaxBrokerPathBytes = 4096;
inline constexpr size_t kMaxBrokerNameBytes = 255;
inline constexpr size_t kMaxBrokerDataBytes = size_t{64} * 1024;

struct BrokerRequest {
  Verb verb = Verb::kCount;
  int32_t id = 0;
  int64_t numbers[2] = {0, 0};
  std::string path;
  std::string name;
  std::string data;
};

// An Error's fields, or what a verb returns.
struct BrokerReply {
  Status status = Done{};
  uint64_t number = 0;
  std::string data;
};

std::vector<std::byte> encode(const BrokerRequest& request);
std::vector<std::byte> encode(const BrokerReply& reply);
// Errors: kInvalidArgument  another release's message, an unknown verb, or
//         sizes over the limits or unlike the datagram's.
[[nodiscard]] Result<BrokerRequest> decode_request(
    std::span<const std::byte> datagram);
[[nodiscard]] Result<BrokerReply> decode_reply(
    std::span<const std::byte> datagram);

inline constexpr size_t kMaxBrokerDatagramBytes =
    256 + kMaxBrokerPathBytes + kMaxBrokerNameBytes + kMaxBrokerDataBytes;

}  // namespace penstock
