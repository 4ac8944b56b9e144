// The published table: any bytes may stand in the file. An input is the head
// of one, followed by zeros.
#include <algorithm>
#include <cstring>
#include <memory>

#include "select_ext/job_submit/demand_table.h"
#include "select_ext/job_submit/job_request.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock::job_submit;

namespace {

void check_model(const ModelDemand& entry) {
  FUZZ_CHECK(entry.millicores.value <= kMaxMillicores);
  FUZZ_CHECK(entry.bytes_per_s.value <= kMaxBytesPerS);
  const GresLimits limits{24, uint64_t{2} << 30, 1.5};
  const Amounts amounts =
      amounts_for(&entry, penstock_wire_options{}, 8, limits);
  FUZZ_CHECK(amounts.loader_cpu <= limits.node_cores);
  FUZZ_CHECK(amounts.loader_bw <= 2048);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto image = std::make_unique<TableImage>();
  std::memset(static_cast<void*>(image.get()), 0, sizeof *image);
  std::memcpy(static_cast<void*>(image.get()), data,
              std::min(size, sizeof *image));
  if (header_fault(image->header) != nullptr) return 0;
  const auto read = [&](size_t offset, void* to, size_t bytes) {
    FUZZ_CHECK(offset + bytes <= sizeof *image);
    std::memcpy(to, reinterpret_cast<const char*>(image.get()) + offset, bytes);
    return true;
  };
  const bool is_good = table_fault(*image) == nullptr;
  for (const ModelDemand& wanted : image->models) {
    ModelDemand entry;
    const LookUp it =
        find_model(image->header, model_name(wanted), read, entry);
    if (it.found) check_model(entry);
    const bool is_used = &wanted < image->models + image->header.model_count;
    FUZZ_CHECK(!is_good || !is_used || it.found);
    FUZZ_CHECK(!is_good || it.fault == nullptr);
  }
  for (const JobDemand& wanted : image->jobs) {
    JobDemand job;
    const LookUp it = find_job(image->header, wanted.job_id, read, job);
    FUZZ_CHECK(!it.found || job.millicores <= kMaxMillicores);
    const bool is_used = &wanted < image->jobs + image->header.job_count;
    FUZZ_CHECK(!is_good || !is_used || it.found);
  }
  return 0;
}
