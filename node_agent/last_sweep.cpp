#include "node_agent/last_sweep.h"

#include <unistd.h>

#include "common/clock.h"

namespace penstock {
namespace {

constexpr uint64_t kPatience_ns = 5'000'000'000;
constexpr unsigned kPause_us = 20'000;

}  // namespace

Status last_sweep(Backend& backend, const FindHome& find_home) {
  const uint64_t until_ns = monotonic_ns() + kPatience_ns;
  Status swept = backend.sweep({}, find_home);
  while (!swept && monotonic_ns() < until_ns) {
    ::usleep(kPause_us);
    swept = backend.sweep({}, find_home);
  }
  return swept;
}

}  // namespace penstock
