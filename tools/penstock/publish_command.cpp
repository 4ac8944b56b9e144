// `penstock publish`: writes the demand table from profiles, for a site without
// penstockctld, which otherwise does this.
#include <fmt/format.h>

#include <chrono>
#include <ostream>

#include "select_ext/job_submit/model_demands.h"
#include "select_ext/job_submit/table_writer.h"
#include "tools/penstock/command_options.h"
#include "tools/penstock/commands.h"

namespace penstock {
namespace {

struct PublishOptions {
  Site site;
};

Status run_publish(const PublishOptions&, const Config& config,
                   Terminal& terminal) {
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

}  // namespace

Run add_publish(CLI::App* command) {
  auto it = std::make_shared<PublishOptions>();
  add_site(command, it->site, false);
  return with_config(it, run_publish);
}

}  // namespace penstock
