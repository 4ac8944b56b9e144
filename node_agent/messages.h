// Messages that arrive on penstockd's socket, checked field by field. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "common/options.h"
#include "common/protocol.h"
#include "common/result.h"

namespace penstock {

using Message =
    std::variant<penstock_task_start, penstock_task_exit, penstock_step_end,
                 penstock_job_end, penstock_hello, penstock_thread,
                 penstock_status, penstock_job_start, penstock_switch,
                 penstock_limit>;

// Checks magic, version, type, size, strings and ranges of one packet.
//   limits  the admin's bounds for the options of a TASK_START
// Errors: kInvalidArgument  names the field; the sender gets EINVAL.
[[nodiscard]] Result<Message> decode_message(std::span<const std::byte> packet,
                                             const OptionLimits& limits);

// The request id of a packet that decode_message may refuse; 0 when there is
// not even a whole header.
uint32_t request_id_of(std::span<const std::byte> packet);

// True for the messages that only root (Slurm's daemons, an admin) may send.
bool is_root_only(const Message& message);

// Text of a fixed, NUL-padded field that need not be terminated.
template <size_t N>
std::string_view fixed_text(const char (&field)[N]) {
  std::string_view all(field, N);
  return all.substr(0, all.find('\0'));
}

}  // namespace penstock
