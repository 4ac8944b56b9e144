// Demand tables for the tests of job_submit/.
#pragma once

#include <cstring>
#include <memory>
#include <string>

#include "select_ext/job_submit/demand_table.h"

namespace penstock::job_submit {

inline ModelDemand model_entry(const std::string& name, uint64_t millicores,
                               uint64_t bytes_per_s) {
  ModelDemand entry{};
  std::memcpy(entry.model, name.data(), name.size());
  entry.millicores = {millicores, millicores / 2, millicores * 2};
  entry.bytes_per_s = {bytes_per_s, bytes_per_s / 2, bytes_per_s * 2};
  entry.ceiling_milli_samples_per_s = {700000, 600000, 800000};
  return entry;
}

// "" (2 cores, 50 MiB/s), alexnet (6, 200) and res50 (3, 100); jobs 7 and 9.
inline std::unique_ptr<TableImage> good_table() {
  auto image = std::make_unique<TableImage>();
  std::memset(static_cast<void*>(image.get()), 0, sizeof *image);
  image->header.magic = kTableMagic;
  image->header.version = kTableVersion;
  image->header.size_bytes = sizeof *image;
  image->header.model_count = 3;
  image->models[0] = model_entry("", 2000, 50 << 20);
  image->models[1] = model_entry("alexnet", 6000, 200 << 20);
  image->models[2] = model_entry("res50", 3000, 100 << 20);
  image->header.job_count = 2;
  image->jobs[0] = {7, 1500, 10 << 20};
  image->jobs[1] = {9, 2500, 0};
  return image;
}

// Reads a table from memory.
inline auto reads(const TableImage& image) {
  return [&](size_t offset, void* to, size_t size) {
    std::memcpy(to, reinterpret_cast<const char*>(&image) + offset, size);
    return true;
  };
}

}  // namespace penstock::job_submit
