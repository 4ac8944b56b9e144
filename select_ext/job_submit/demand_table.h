// The table that penstockctld publishes and job_submit_penstock.so reads: what
// a job of each model needs, and what it found for jobs that are queued. One
// file of fixed size, updated in place; host byte order (both ends are on one
// machine). This part is pure; table_reader.h and table_writer.h do the I/O.
// The C++ standard library only: the plugin compiles it too.
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

// A figure with the interval in which it is expected: low <= value <= high.
// One that nothing tells is {0, 0, kUnknown}.
struct Range {
  static constexpr uint64_t kUnknown = UINT64_MAX;  // as high
  uint64_t value = 0;
  uint64_t low = 0;
  uint64_t high = kUnknown;

  bool known() const { return high != kUnknown; }
};

// All figures are per rank, which is a GPU.
struct ModelDemand {
  char model[64];    // as --loader-model names it, NUL-padded, printable ASCII;
                     // "": of a job that names none, or one that is not here
  Range millicores;  // loader cores for the ceiling, <= kMaxMillicores
  Range bytes_per_s;                  // from storage, <= kMaxBytesPerS
  Range ceiling_milli_samples_per_s;  // <= kMaxMilliSamplesPerS
};

// What a queued job was found to need, for when its GRES are updated. 0: that
// GRES is not the job's.
struct JobDemand {
  uint32_t job_id;
  uint32_t millicores;   // per GPU
  uint64_t bytes_per_s;  // per GPU
};

struct TableHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t size_bytes;   // sizeof(TableImage)
  uint32_t sequence;     // odd while a write is under way (a seqlock)
  uint32_t model_count;  // of models in use; they ascend by name
  uint32_t job_count;    // of jobs in use; they ascend by job_id
  uint32_t reserved;     // 0
  uint64_t published_s;  // Unix time of the last write
};

struct TableImage {
  TableHeader header;
  ModelDemand models[kMaxModels];
  JobDemand jobs[kMaxJobs];
};

// Why something is no part of a table, as a text without a full stop; nullptr
// where it is. They look at every field but sequence. Allocate nothing,
// thread-safe.
const char* header_fault(const TableHeader& header);
const char* model_fault(const ModelDemand& entry);
const char* job_fault(const JobDemand& job);
// All of the image that is in use, and its order.
const char* table_fault(const TableImage& image);

// The name of an entry. It may fill its field.
std::string_view model_name(const ModelDemand& entry);

// What a look-up found. fault: why the table cannot be used, else nullptr.
struct LookUp {
  bool found = false;
  const char* fault = nullptr;
};

// Look-ups in a table of which parts are read one by one, as a shared file is:
// read(offset, to, size) copies bytes of the TableImage and returns whether
// they are there. What is found has no fault. O(log entries) reads.
// REQUIRES: header has no fault.

// The model's entry, else the one without a name.
template <class Read>
LookUp find_model(const TableHeader& header, std::string_view model,
                  const Read& read, ModelDemand& entry);
template <class Read>
LookUp find_job(const TableHeader& header, uint32_t job_id, const Read& read,
                JobDemand& job);

// -- implementation -----------------------------------------------------------

inline constexpr const char* kCutShort = "cut short";

// Searches count entries of type Entry from offset on for the first of which
// is_before(entry) does not hold; false where a read fails. index may be count.
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
