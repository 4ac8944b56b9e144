// The demand table, published by penstockctld and read by
// job_submit_penstock.so: the needs of a job of each model, and the computed
// needs of queued jobs. One file of fixed size, updated in place; host byte
// order, as both processes run on one machine. Pure; table_reader.h and
// table_writer.h do the I/O. The C++ standard library only: the plugin compiles
// it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penstock::job_submit {

inline constexpr uint64_t kTableMagic = 0x31424d4454534e50;  // "PNSTDMB1"
inline constexpr uint32_t kTableVersion = 1;
inline constexpr uint32_t kMaxModels = 256;
inline constexpr uint32_t kMaxJobs = 4096;

inline constexpr uint64_t kMaxMillicores = uint64_t{4096} * 1000;
inline constexpr uint64_t kMaxBytesPerS = uint64_t{1} << 62;
inline constexpr uint64_t kMaxMilliSamplesPerS = 1000000000000;

// A figure with its expected interval: low <= value <= high. Unknown: {0, 0,
// kUnknown}.
struct Range {
  static constexpr uint64_t kUnknown = UINT64_MAX;  // in `high`
  uint64_t value = 0;
  uint64_t low = 0;
  uint64_t high = kUnknown;

  bool known() const { return high != kUnknown; }
};

// All figures are per rank; a rank is a GPU.
struct ModelDemand {
  char model[64];     // the job's model, NUL-padded, printable ASCII; "":
                      // for a job without a name or with an unlisted one
  Range millicores;   // loader cores for the ceiling, <= kMaxMillicores
  Range bytes_per_s;  // from storage, <= kMaxBytesPerS
  Range ceiling_milli_samples_per_s;  // <= kMaxMilliSamplesPerS
};

// The computed need of a queued job, for updates of its GRES. 0: the job does
// not have that GRES.
struct JobDemand {
  uint32_t job_id;
  uint32_t millicores;   // per GPU
  uint64_t bytes_per_s;  // per GPU
};

struct TableHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t size_bytes;   // sizeof(TableImage)
  uint32_t sequence;     // odd during a write (a seqlock)
  uint32_t model_count;  // number of models in use; sorted by name
  uint32_t job_count;    // number of jobs in use; sorted by job_id
  uint32_t reserved;     // 0
  uint64_t published_s;  // Unix time of the last write
};

struct TableImage {
  TableHeader header;
  ModelDemand models[kMaxModels];
  JobDemand jobs[kMaxJobs];
};

// The fault of a part of a table, as a text without a full stop; nullptr if it
// is valid. They check every field but sequence. Allocate nothing; thread-safe.
const char* header_fault(const TableHeader& header);
const char* model_fault(const ModelDemand& entry);
const char* job_fault(const JobDemand& job);
// Checks the used part of the image, and its order.
const char* table_fault(const TableImage& image);

// The name of an entry, which may fill its field without a NUL.
std::string_view model_name(const ModelDemand& entry);

// Result of a look-up. fault: why the table is unusable, else nullptr.
struct LookUp {
  bool found = false;
  const char* fault = nullptr;
};

// Look-ups in a table that is read piece by piece, as a shared file is.
// read(offset, to, size) copies bytes of the TableImage and returns false if
// they are missing. An entry is checked before it counts as found. O(log
// entries) reads.
// REQUIRES: header has no fault.

// The model's entry, else the entry without a name.
template <class Read>
LookUp find_model(const TableHeader& header, std::string_view model,
                  const Read& read, ModelDemand& entry);
template <class Read>
LookUp find_job(const TableHeader& header, uint32_t job_id, const Read& read,
                JobDemand& job);

// -- implementation -----------------------------------------------------------

inline constexpr const char* kCutShort = "cut short";

// Binary search over `count` sorted entries of type Entry from `offset` on, for
// the first with !is_before(entry). False if a read fails. index may be count.
template <class Entry, class Read, class IsBefore>
bool lower_bound_read(size_t offset, uint32_t count, const Read& read,
                      const IsBefore& is_before, uint32_t& index) {
  index = 0;
  while (count > 0) {
    const uint32_t half = count / 2;
    Entry entry;
    if (!read(offset + (index + half) * sizeof entry, &entry, sizeof entry))
      return false;
    if (is_before(entry)) {
      index += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return true;
}

template <class Read>
LookUp find_model(const TableHeader& header, std::string_view model,
                  const Read& read, ModelDemand& entry) {
  constexpr size_t kOffset = offsetof(TableImage, models);
  const auto read_entry = [&](uint32_t index) {
    return read(kOffset + index * sizeof entry, &entry, sizeof entry);
  };
  uint32_t index = 0;
  if (!lower_bound_read<ModelDemand>(
          kOffset, header.model_count, read,
          [&](const ModelDemand& it) { return model_name(it) < model; }, index))
    return {false, kCutShort};
  if (index < header.model_count) {
    if (!read_entry(index)) return {false, kCutShort};
    if (model_name(entry) == model) {
      const char* fault = model_fault(entry);
      return {fault == nullptr, fault};
    }
  }
  // The entry without a name sorts first.
  if (header.model_count == 0) return {};
  if (!read_entry(0)) return {false, kCutShort};
  const char* fault = model_fault(entry);
  return {fault == nullptr && model_name(entry).empty(), fault};
}

template <class Read>
LookUp find_job(const TableHeader& header, uint32_t job_id, const Read& read,
                JobDemand& job) {
  constexpr size_t kOffset = offsetof(TableImage, jobs);
  uint32_t index = 0;
  if (!lower_bound_read<JobDemand>(
          kOffset, header.job_count, read,
          [&](const JobDemand& it) { return it.job_id < job_id; }, index))
    return {false, kCutShort};
  if (index == header.job_count) return {};
  if (!read(kOffset + index * sizeof job, &job, sizeof job))
    return {false, kCutShort};
  if (job.job_id != job_id) return {};
  const char* fault = job_fault(job);
  return {fault == nullptr, fault};
}

}  // namespace penstock::job_submit
