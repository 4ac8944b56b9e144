// The plugin's side of the demand table: maps the file once, and takes copies.
#pragma once

#include <atomic>

#include "select_ext/job_submit/demand_table.h"

namespace penstock::job_submit {

// Trivially destructible: Slurm unloads plugins while its own threads run.
class TableReader {
 public:
  // Maps the file at path, for reading. Opens no more than that: the file must
  // be there and of a table's size.
  // Returns nullptr, or why not, as a text without a full stop; errno may say
  // more. Refused: what is no regular file, belongs to neither root nor the
  // caller, or is writable by group or others.
  const char* open(const char* path);
  void close();
  bool is_open() const { return mapped_ != nullptr; }

  // Look-ups, each as the table stood between two writes. Take no lock, wait
  // for nobody and make no I/O; thread-safe. A file that was cut short after
  // open() is a fault, not a signal. REQUIRES: is_open().
  LookUp model(std::string_view name, ModelDemand& entry) const;
  LookUp job(uint32_t job_id, JobDemand& job) const;

 private:
  LookUp look_up_model(std::string_view name, ModelDemand& entry) const;
  LookUp cached_model(std::string_view name, ModelDemand& entry) const;
  bool refresh_cache(const TableHeader& header) const;

  const TableImage* mapped_ = nullptr;

  // The models as they stood at the sequence of its header. Whoever finds it
  // taken reads the mapping instead.
  struct Cache {
    TableHeader header;
    ModelDemand models[kMaxModels];
  };
  static_assert(sizeof(Cache) == offsetof(TableImage, jobs));
  mutable std::atomic<bool> cache_taken_ = false;
  mutable Cache cache_ = {};
};

}  // namespace penstock::job_submit
