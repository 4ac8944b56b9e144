// Decoding and checking of the messages on penstockd's socket. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "common/options.h"
#include "common/protocol.h"
#include "common/result.h"
#include "common/wire_text.h"

namespace penstock {

using Message =
    std::variant<penstock_task_start, penstock_task_exit, penstock_step_end,
                 penstock_job_end, penstock_hello, penstock_thread,
                 penstock_status, penstock_job_start, penstock_switch,
                 penstock_limit, penstock_notice>;

// Checks magic, version, type, size, strings and ranges of one packet.
//   limits  the admin's limits for the options of a TASK_START
// Errors: kInvalidArgument  the message names the field; reply with EINVAL.
[[nodiscard]] Result<Message> decode_message(std::span<const std::byte> packet,
                                             const OptionLimits& limits);

// The request id of a packet, even if decode_message() refuses the packet. 0:
// the packet is shorter than a header.
uint32_t request_id_of(std::span<const std::byte> packet);

// True for messages that only root (Slurm's daemons, an admin) may send.
bool is_root_only(const Message& message);

}  // namespace penstock
