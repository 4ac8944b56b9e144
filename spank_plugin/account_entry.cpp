// spank_penstock_account.so: sends each job's account and partition to
// penstockd before the job's first task.
//
// slurmd runs a helper process per job and node if any plugin has job_prolog.
// Only in this process can no user forge these names. Because of the cost this
// is a separate, optional plugin (docs/decisions/plugin.md, 11).
#include <cstdlib>

#include "common/plugin_guard.h"
#include "spank_plugin/agent_link.h"
#include "spank_plugin/messages.h"
#include "spank_plugin/settings.h"
#include "spank_plugin/slurm_api.h"

namespace penstock::spank {
namespace {

constexpr uid_t kRoot = 0;

// slurmd builds this process's environment from the job's credential; variables
// added by users begin with SPANK_. A name too long for the field gives "": cut
// to size, it could be another one.
template <size_t kBytes>
void set_name(char (&field)[kBytes], const char* variable) {
  const char* value = std::getenv(variable);
  const std::string_view name = value == nullptr ? "" : value;
  set_field(field, name.size() <= kBytes ? name : "");
}

int announce_job(spank_t spank, int count, char** arguments) {
  Settings settings;
  for (int i = 0; i < count; ++i) {
    const Status status = apply_argument(arguments[i], settings);
    if (!status)
      slurm_error("penstock_account: %s", status.error().message.c_str());
  }
  auto message = make_message<penstock_job_start>(PENSTOCK_JOB_START);
  if (spank_get_item(spank, S_JOB_ID, &message.job_id) != ESPANK_SUCCESS)
    return 0;
  set_name(message.account, "SLURM_JOB_ACCOUNT");
  set_name(message.partition, "SLURM_JOB_PARTITION");
  const Outcome outcome =
      send_message(settings.socket_path, kRoot, &message, sizeof message);
  if (outcome != Outcome::kDone)
    slurm_debug("penstock_account: the job's start not sent: %s",
                outcome_text(outcome));
  return 0;
}

}  // namespace
}  // namespace penstock::spank

#pragma GCC visibility push(default)
extern "C" {

extern const char plugin_name[];
extern const char plugin_type[];
extern const unsigned int plugin_version;
extern const unsigned int spank_plugin_version;
SPANK_PLUGIN(penstock_account, 1)

int slurm_spank_job_prolog(spank_t spank, int count, char* arguments[]) {
  // slurmd drains the node if this returns anything but 0.
  return penstock::guard("job_prolog", 0, [&] {
    return penstock::spank::announce_job(spank, count, arguments);
  });
}

}  // extern "C"
#pragma GCC visibility pop
