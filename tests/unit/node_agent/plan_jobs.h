// Jobs and nodes of the planner's tests.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "node_agent/plan/planner.h"

namespace penstock {

inline constexpr double kMB = 1e6;

inline Prediction prediction(double ceiling, double cpu_s, double bytes = 0) {
  Prediction p;
  auto exact = [](double v) { return Figure{v, v, v}; };
  p.ceiling_samples_per_s = exact(ceiling);
  p.loader_cpu_s_per_sample = exact(cpu_s);
  p.storage_bytes_per_sample = exact(bytes);
  p.demand_cores = exact(ceiling * cpu_s);
  p.demand_bytes_per_s = exact(ceiling * bytes);
  return p;
}

inline PlanJob job(uint64_t id, CpuSet home, double ceiling, double cpu_s,
                   double bytes = 0, int pool = -1) {
  PlanJob entry;
  entry.id = id;
  entry.uid = 1000 + uint32_t(id);
  entry.own_cpus = home;
  entry.home_cpus = std::move(home);
  entry.prediction = prediction(ceiling, cpu_s, bytes);
  entry.loader_units = 4;
  entry.elastic = true;
  entry.pool = pool;
  return entry;
}

inline PlanInput two_cpus(std::vector<PlanJob> jobs) {
  PlanInput input;
  input.jobs = std::move(jobs);
  input.numa_node_of_cpu = {0, 0};
  input.core_of_cpu = {0, 1};
  return input;
}

}  // namespace penstock
