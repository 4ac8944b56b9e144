#include "select_ext/job_submit/demand_table.h"

#include <cstring>

#include "common/wire_text.h"

namespace penstock::job_submit {
namespace {

bool valid_range(const Range& range, uint64_t most) {
  if (!range.known()) return range.value == 0 && range.low == 0;
  return range.low <= range.value && range.value <= range.high &&
         range.value <= most;
}

}  // namespace

std::string_view model_name(const ModelDemand& entry) {
  return {entry.model, strnlen(entry.model, sizeof entry.model)};
}

const char* header_fault(const TableHeader& header) {
  if (header.magic != kTableMagic) return "not a demand table";
  if (header.version != kTableVersion) return "of another version";
  if (header.size_bytes != sizeof(TableImage)) return "of another size";
  if (header.reserved != 0) return "a reserved field is used";
  if (header.model_count > kMaxModels) return "more models than fit";
  if (header.job_count > kMaxJobs) return "more jobs than fit";
  return nullptr;
}

const char* model_fault(const ModelDemand& entry) {
  std::string_view name;
  if (!printable_field(entry.model, name))
    return "a model's name is not printable ASCII";
  if (!valid_range(entry.millicores, kMaxMillicores))
    return "a model's loader cores are out of range";
  if (!valid_range(entry.bytes_per_s, kMaxBytesPerS))
    return "a model's bytes per second are out of range";
  if (!valid_range(entry.ceiling_milli_samples_per_s, kMaxMilliSamplesPerS))
    return "a model's ceiling is out of range";
  return nullptr;
}

const char* job_fault(const JobDemand& job) {
  if (job.millicores > kMaxMillicores)
    return "a job's loader cores are out of range";
  if (job.bytes_per_s > kMaxBytesPerS)
    return "a job's bytes per second are out of range";
  return nullptr;
}

const char* table_fault(const TableImage& image) {
  if (const char* fault = header_fault(image.header)) return fault;
  for (uint32_t i = 0; i < image.header.model_count; ++i) {
    if (const char* fault = model_fault(image.models[i])) return fault;
    if (i > 0 && model_name(image.models[i - 1]) >= model_name(image.models[i]))
      return "the models are not in order, or one is there twice";
  }
  for (uint32_t i = 0; i < image.header.job_count; ++i) {
    if (const char* fault = job_fault(image.jobs[i])) return fault;
    if (i > 0 && image.jobs[i - 1].job_id >= image.jobs[i].job_id)
      return "the jobs are not in order, or one is there twice";
  }
  return nullptr;
}

}  // namespace penstock::job_submit
