#include "tools/advise/accounting.h"

#include <algorithm>

#include "common/units.h"

namespace penstock::advise {

Accounted parse_accounting(std::string_view output, uint32_t job_id) {
  const std::string own = std::to_string(job_id);
  Accounted out;
  while (!output.empty()) {
    const size_t end = output.find('\n');
    const std::string_view line = output.substr(0, end);
    output.remove_prefix(end == output.npos ? output.size() : end + 1);
    const size_t first = line.find('|');
    const size_t last = line.rfind('|');
    if (first == line.npos || first == last) continue;
    const std::string_view job = line.substr(0, first);
    const bool is_step = job.find('.') != job.npos;
    if (job.substr(0, job.find('.')) != own) continue;
    // "CANCELLED by 1000"
    const std::string_view state = line.substr(first + 1, last - first - 1);
    if (!is_step) out.state = std::string(state.substr(0, state.find(' ')));
    const Result<uint64_t> bytes = parse_size_bytes(line.substr(last + 1));
    if (!bytes) continue;
    out.memory_bytes = std::max(out.memory_bytes.value_or(0), double(*bytes));
  }
  return out;
}

}  // namespace penstock::advise
