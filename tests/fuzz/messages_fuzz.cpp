// Packets from the socket: any user's process may send any bytes.
#include "node_agent/messages.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span packet(reinterpret_cast<const std::byte*>(data), size);
  const auto message = decode_message(packet, OptionLimits{});
  (void)request_id_of(packet);
  if (!message) {
    FUZZ_CHECK(!message.error().message.empty());
    return 0;
  }
  // What is accepted is inside the bounds that the agent relies on.
  if (const auto* start = std::get_if<penstock_task_start>(&*message)) {
    FUZZ_CHECK(start->job_id != 0);
    FUZZ_CHECK(start->pid > 1);
    FUZZ_CHECK(check_options(start->options, OptionLimits{}).ok());
  }
  if (const auto* start = std::get_if<penstock_job_start>(&*message)) {
    FUZZ_CHECK(start->job_id != 0);
  }
  if (const auto* wanted = std::get_if<penstock_switch>(&*message)) {
    FUZZ_CHECK(wanted->off <= 1);
  }
  FUZZ_CHECK(size == sizeof(penstock_task_start) ||
             !std::holds_alternative<penstock_task_start>(*message));
  return 0;
}
