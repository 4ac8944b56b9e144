#include "node_agent/messages.h"

#include <algorithm>
#include <cstring>

#include "cgroup/backend.h"

namespace penstock {
namespace {

template <class T>
Result<Message> as(std::span<const std::byte> packet) {
  T message;
  if (packet.size() != sizeof message) {
    return invalid(
        "size of a type " +
        std::to_string(
            reinterpret_cast<const penstock_header*>(packet.data())->type) +
        " message: " + std::to_string(packet.size()) +
        " bytes; allowed: " + std::to_string(sizeof message));
  }
  std::memcpy(&message, packet.data(), sizeof message);
  return Message(message);
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
}

Status check_task_start(const penstock_task_start& start,
                        const OptionLimits& limits) {
  if (start.job_id == 0) return invalid("job_id: 0; allowed: 1 and up");
  if (start.pid <= 1) {
    return invalid("pid: " + std::to_string(start.pid) + "; allowed: 2 and up");
  }
  if (!is_printable(fixed_text(start.gpus)) ||
      !is_printable(fixed_text(start.job_name))) {
    return invalid("gpus or job_name: not printable");
  }
  return check_options(start.options, limits);
}

Status check_job_start(const penstock_job_start& start) {
  if (start.job_id == 0) return invalid("job_id: 0; allowed: 1 and up");
  if (!is_printable(fixed_text(start.account)) ||
      !is_printable(fixed_text(start.partition))) {
    return invalid("account or partition: not printable");
  }
  return Done{};
}

Status check_switch(const penstock_switch& wanted) {
  if (wanted.off <= 1) return Done{};
  return invalid("off: " + std::to_string(wanted.off) + "; allowed: 0 and 1");
}

Status check_limit(const penstock_limit& limit) {
  constexpr uint32_t kMost = 4096 * 1000;
  const bool is_amount = limit.millicores >= Backend::kMinLimitMillicores &&
                         limit.millicores <= kMost;
  if (limit.millicores != 0 && !is_amount) {
    return invalid("millicores: " + std::to_string(limit.millicores) +
                   "; allowed: 0, and 100 to 4096000");
  }
  constexpr uint64_t kMostBytes = 1'000'000'000'000'000;
  if (limit.bytes_per_s > kMostBytes) {
    return invalid("bytes_per_s: " + std::to_string(limit.bytes_per_s) +
                   "; allowed: 0 to " + std::to_string(kMostBytes));
  }
  if (limit.ends > 1) {
    return invalid("ends: " + std::to_string(limit.ends) +
                   "; allowed: 0 and 1");
  }
  return Done{};
}

Status check_fields(const Message& message, const OptionLimits& limits) {
  if (const auto* start = std::get_if<penstock_task_start>(&message)) {
    return check_task_start(*start, limits);
  }
  if (const auto* start = std::get_if<penstock_job_start>(&message)) {
    return check_job_start(*start);
  }
  if (const auto* wanted = std::get_if<penstock_switch>(&message)) {
    return check_switch(*wanted);
  }
  if (const auto* limit = std::get_if<penstock_limit>(&message)) {
    return check_limit(*limit);
  }
  return Done{};
}

Result<Message> decode_type(uint16_t type, std::span<const std::byte> packet) {
  switch (type) {
    case PENSTOCK_TASK_START:
      return as<penstock_task_start>(packet);
    case PENSTOCK_TASK_EXIT:
      return as<penstock_task_exit>(packet);
    case PENSTOCK_STEP_END:
      return as<penstock_step_end>(packet);
    case PENSTOCK_JOB_END:
      return as<penstock_job_end>(packet);
    case PENSTOCK_HELLO:
      return as<penstock_hello>(packet);
    case PENSTOCK_THREAD:
      return as<penstock_thread>(packet);
    case PENSTOCK_STATUS:
      return as<penstock_status>(packet);
    case PENSTOCK_JOB_START:
      return as<penstock_job_start>(packet);
    case PENSTOCK_SWITCH:
      return as<penstock_switch>(packet);
    case PENSTOCK_LIMIT:
      return as<penstock_limit>(packet);
    case PENSTOCK_NOTICE:
      return as<penstock_notice>(packet);
    default:
      return invalid("type: " + std::to_string(type) + " is unknown");
  }
}

}  // namespace

uint32_t request_id_of(std::span<const std::byte> packet) {
  penstock_header header{};
  if (packet.size() < sizeof header) return 0;
  std::memcpy(&header, packet.data(), sizeof header);
  return header.request_id;
}

Result<Message> decode_message(std::span<const std::byte> packet,
                               const OptionLimits& limits) {
  penstock_header header;
  if (packet.size() < sizeof header) {
    return invalid("a packet of " + std::to_string(packet.size()) +
                   " bytes holds no header");
  }
  std::memcpy(&header, packet.data(), sizeof header);
  if (header.magic != PENSTOCK_MAGIC) return invalid("magic: not PNST");
  if (header.version != PENSTOCK_PROTOCOL_VERSION) {
    return invalid("version: " + std::to_string(header.version) +
                   "; allowed: " + std::to_string(PENSTOCK_PROTOCOL_VERSION) +
                   " (install one release of Penstock everywhere)");
  }
  if (header.size_bytes != packet.size()) {
    return invalid("size_bytes: " + std::to_string(header.size_bytes) +
                   " in a packet of " + std::to_string(packet.size()));
  }
  Result<Message> message = decode_type(header.type, packet);
  if (!message) return message;
  Status checked = check_fields(*message, limits);
  if (!checked) return std::move(checked).error();
  return message;
}

bool is_root_only(const Message& message) {
  return std::holds_alternative<penstock_task_start>(message) ||
         std::holds_alternative<penstock_task_exit>(message) ||
         std::holds_alternative<penstock_step_end>(message) ||
         std::holds_alternative<penstock_job_end>(message) ||
         std::holds_alternative<penstock_job_start>(message) ||
         std::holds_alternative<penstock_switch>(message) ||
         std::holds_alternative<penstock_notice>(message);
}

}  // namespace penstock
