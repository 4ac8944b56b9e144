// penstock.conf: whatever is accepted keeps the bounds that the daemon counts
// on; whatever is refused is refused in one printable line.
#include "common/config.h"
#include "common/units.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto config = parse_config(as_text(data, size), "f.conf");
  if (!config) {
    const std::string& message = config.error().message;
    FUZZ_CHECK(message.starts_with("f.conf:"));
    FUZZ_CHECK(message.find("allowed: ") != std::string::npos);
    FUZZ_CHECK(printable(message, message.size()) == message);
    return 0;
  }
  FUZZ_CHECK(config->socket_path.size() < 108);
  FUZZ_CHECK(config->state_dir.front() == '/');
  FUZZ_CHECK(config->max_weight > 0 && config->max_weight <= 1000);
  FUZZ_CHECK(config->sample_period_ms >= 100);
  FUZZ_CHECK(CpuSet::parse(config->managed_cpus).ok());
  FUZZ_CHECK(config->history_file.front() == '/');
  FUZZ_CHECK(config->history_retention_days >= 1);
  FUZZ_CHECK(config->submit_overcommit >= 0.1);
  FUZZ_CHECK(config->submit_socket.size() < 108);
  FUZZ_CHECK(config->pools.size() <= 64);
  for (const PoolConfig& pool : config->pools)
    FUZZ_CHECK(pool.bandwidth_bytes_per_s > 0 && pool.path.front() == '/');
  return 0;
}
