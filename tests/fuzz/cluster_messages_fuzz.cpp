// Bodies of messages between agents and controllers: sealed by root, but by a
// machine that may have been taken over, or by another release.
#include <nlohmann/json.hpp>

#include "select_ext/ctld/controller.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

namespace {

// What is accepted does no harm to a controller that knows other nodes.
void use(const AgentMessage& message) {
  PoolConfig pool;
  pool.name = "net";
  pool.bandwidth_bytes_per_s = 1000;
  Controller controller({}, {pool}, Policy::kThroughput);
  NodeHello hello;
  hello.cpus = hello.loader_cores = 4;
  JobPart part;
  part.id = 1;
  part.ceiling = 1000;
  part.loader_cpu_s_per_sample = 1e-3;
  part.entitled_cores = 2;
  part.max_cores = 4;
  hello.parts = {part};
  controller.on_message({"n1", 1, 1, 0, hello}, 0);
  controller.on_message({"n2", 1, 1, 0, hello}, 0);
  controller.on_message({"n2", 1, 2, 0, message}, 0.5);
  controller.on_tick(0, 0);
  controller.on_tick(2, 0);
  (void)controller.take_outgoing();
  for (int node = 0; node < controller.plan().node_count(); ++node) {
    FUZZ_CHECK(controller.plan().node(node).loader_cores >= 0);
  }
}

}  // namespace

// The first line is the type, the rest the body.
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = as_text(data, size);
  const size_t line = text.find('\n');
  if (line == text.npos) return 0;
  const std::string type(text.substr(0, line));
  const auto body =
      nlohmann::json::parse(text.substr(line + 1), nullptr, false);
  if (body.is_discarded()) return 0;
  if (const auto message = read_agent_message(type, body)) {
    const TypedBody again = body_of(*message);
    const auto read = read_agent_message(again.type, again.body);
    FUZZ_CHECK(read.ok());
    FUZZ_CHECK(*read == *message);
    use(*message);
  } else {
    FUZZ_CHECK(!message.error().message.empty());
  }
  if (const auto message = read_controller_message(type, body)) {
    const TypedBody again = body_of(*message);
    const auto read = read_controller_message(again.type, again.body);
    FUZZ_CHECK(read.ok());
    FUZZ_CHECK(*read == *message);
  }
  return 0;
}
