// The plugin's side of the demand table: maps the file once and copies from it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <optional>

#include "select_ext/job_submit/demand_table.h"

namespace penstock::job_submit {

// Trivially destructible: Slurm unloads plugins while its own threads run.
class TableReader {
 public:
  // Maps the file at path for reading. The file must exist and have a table's
  // size. Returns nullptr, or the reason of the failure as a text without a
  // full stop; errno may say more. Refused: a file that is not regular, belongs
  // to none of root, the caller and the writer, or is writable by group or
  // others.
  const char* open(const char* path, std::optional<uid_t> writer);
  void close();
  bool is_open() const { return mapped_ != nullptr; }

  // Look-ups, each in a snapshot between two writes. They take no lock, never
  // wait and do no I/O; thread-safe. A file truncated after open() gives a
  // fault, not a signal. REQUIRES: is_open().
  LookUp model(std::string_view name, ModelDemand& entry) const;
  LookUp job(uint32_t job_id, JobDemand& job) const;

 private:
  LookUp look_up_model(std::string_view name, ModelDemand& entry) const;
  LookUp cached_model(std::string_view name, ModelDemand& entry) const;
  bool refresh_cache(const TableHeader& header) const;

  const TableImage* mapped_ = nullptr;

  // The models of header.sequence. One thread uses the cache at a time; others
  // read the mapping instead.
  struct Cache {
    TableHeader header;
    ModelDemand models[kMaxModels];
  };
  static_assert(sizeof(Cache) == offsetof(TableImage, jobs));
  mutable std::atomic<bool> cache_taken_ = false;
  mutable Cache cache_ = {};
};

}  // namespace penstock::job_submit
