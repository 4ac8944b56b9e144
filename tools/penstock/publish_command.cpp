// `penstock publish`: writes the demand table from profiles, for a site without
// penstockctld, which otherwise does this.
#include <fmt/format.h>

#include <chrono>
#include <ostream>

#include "select_ext/job_submit/model_demands.h"
#include "select_ext/job_submit/table_writer.h"
#include "tools/penstock/command.h"

namespace penstock {

Status run_publish(const Config& config, Terminal& terminal) {
  auto demands = job_submit::model_demands(
      config.profile_dir, config.submit_model, config.gpu_type);
  if (!demands) return std::move(demands).error();
  auto writer = job_submit::TableWriter::open(config.submit_table);
  if (!writer) return std::move(writer).error();
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const size_t count = demands->size();
  Status status = writer->publish(*std::move(demands), {},
                                  static_cast<uint64_t>(now.count()));
  if (!status) return status;
  terminal.out << fmt::format("{}: {} entries\n", config.submit_table, count);
  return Done{};
}

}  // namespace penstock
