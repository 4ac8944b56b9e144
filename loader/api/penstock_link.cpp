#include "loader/api/penstock_link.h"

namespace penstock {

PipelineLink penstock_link(penstock_handle* handle) {
  PipelineLink link;
  link.hint = [handle]() -> std::optional<PipelineHint> {
    penstock_hint hint;
    if (penstock_read_hint(handle, &hint) == 0) return std::nullopt;
    // If the kernel enforces the rate, a second limit here only adds waiting.
    const bool keep = hint.kernel_limited == 0;
    return PipelineHint{hint.loader_threads, keep ? hint.rate_bytes_per_s : 0};
  };
  link.thread = [handle](bool starts) {
    if (starts) {
      penstock_register_thread(handle, 0);
    } else {
      penstock_unregister_thread(handle, 0);
    }
  };
  return link;
}

}  // namespace penstock
