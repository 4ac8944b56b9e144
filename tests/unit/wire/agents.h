// Agents' messages for tests.
#pragma once

#include "common/config.h"
#include "wire/messages.h"

namespace penstock {

// One rank of a job that needs 1 ms of loader CPU for a sample.
inline JobPart part_of(uint64_t id, double ceiling, double entitled_cores) {
  JobPart part;
  part.id = id;
  part.uid = 1000;
  part.name = "train";
  part.ceiling = ceiling;
  part.loader_cpu_s_per_sample = 0.001;
  part.entitled_cores = entitled_cores;
  part.max_cores = 1e9;
  return part;
}

inline JobPart reading(JobPart part, const std::string& pool,
                       double bytes_per_sample) {
  part.pool = pool;
  part.storage_bytes_per_sample = bytes_per_sample;
  return part;
}

inline NodeHello hello_of(double cpus, std::vector<JobPart> parts) {
  NodeHello hello;
  hello.cpus = hello.loader_cores = cpus;
  hello.parts = std::move(parts);
  return hello;
}

inline PoolConfig pool_of(const std::string& name, uint64_t bytes_per_s) {
  PoolConfig pool;
  pool.name = name;
  pool.path = "/" + name;
  pool.bandwidth_bytes_per_s = bytes_per_s;
  return pool;
}

}  // namespace penstock
