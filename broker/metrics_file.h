// The file that node_exporter reads. The directory may be slow: call these in a
// child (broker/workers.h).
#pragma once

#include <string>
#include <string_view>

#include "common/result.h"

namespace penstock {

inline constexpr size_t kMaxMetricsBytes = size_t{64} << 20;

// Replaces the file atomically (written under another name, renamed; mode
// 0644). Another daemon may own the parent of the directory, so no link is
// followed, neither as the directory nor in it. Not synced: old metrics are
// useless after a crash.
// Errors: kPermissionDenied  the directory is not ours, or others may write it
//         kNotFound, kIo     the directory is missing, or writing failed; no
//                            partial file remains
[[nodiscard]] Status write_metrics_file(const std::string& path,
                                        std::string_view text);

// Removes the file, and the unfinished file of a killed writer. A missing
// file or directory is no error. Errors: as write_metrics_file().
[[nodiscard]] Status remove_metrics_file(const std::string& path);

}  // namespace penstock
