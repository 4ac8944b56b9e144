#include "loader/lmdb/mpi/reader_options.h"

#include <climits>
#include <string>

namespace penstock::lmdb {
namespace {

Status check_switches(const ReaderOptions& options) {
  const auto needs = [](bool has, bool needed, const char* what,
                        const char* which) -> Status {
    if (!has || needed) return Done{};
    return invalid(std::string(what) + " needs " + which);
  };
  if (!options.lmm) {
    return invalid("lmm is off: read with liblmdb itself then");
  }
  for (Status status :
       {needs(options.dio, options.dm, "dio", "dm"),
        needs(options.prov, options.dm, "prov", "dm"),
        needs(options.coal, options.dio, "coal", "dio"),
        needs(options.map_cached, options.dm, "map_cached", "dm"),
        needs(options.shuffle, options.dm, "shuffle", "dm")}) {
    if (!status) return status;
  }
  if (options.stag && options.readers_per_node > 1) {
    return invalid("stag needs readers_per_node 1: nodes take turns");
  }
  return Done{};
}

Status check_range(uint64_t value, uint64_t least, uint64_t most,
                   const char* what) {
  if (value >= least && value <= most) return Done{};
  return invalid(std::string(what) + " is " + std::to_string(value) +
                 ", not between " + std::to_string(least) + " and " +
                 std::to_string(most));
}

}  // namespace

Status check_options(const ReaderOptions& options) {
  if (Status ok = check_switches(options); !ok) return ok;
  for (Status status :
       {check_range(options.batch_records, 1, 1 << 20, "batch_records"),
        check_range(options.readers_per_node, 1, 64, "readers_per_node"),
        check_range(options.stagger_width, 1, 1 << 20, "stagger_width"),
        check_range(options.peer_timeout_ms, 100, 86400000, "peer_timeout_ms"),
        check_range(options.ranks_per_buffer, 0, INT_MAX,
                    "ranks_per_buffer")}) {
    if (!status) return status;
  }
  return Done{};
}

}  // namespace penstock::lmdb
