// spank_penstock.so: the symbols that Slurm looks up. Each callback only checks
// its context and calls its hook through guard().
//
// Every callback returns 0: a job never fails because of Penstock. The only
// exceptions are user errors in the client (hooks.h).
#include <slurm/slurm_version.h>

#include "common/plugin_guard.h"
#include "common/version.h"
#include "spank_plugin/hooks.h"

namespace penstock::spank {

State& state() {
  static constinit State the_state;
  static_assert(std::is_trivially_destructible_v<State>);
  return the_state;
}

void read_arguments(int count, char** arguments) {
  for (int i = 0; i < count; ++i) {
    const Status status = apply_argument(arguments[i], state().settings);
    if (!status) slurm_error("penstock: %s", status.error().message.c_str());
  }
}

namespace {

bool is_client() {
  const spank_context_t context = ::spank_context();
  return context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR;
}

bool is_step() { return ::spank_context() == S_CTX_REMOTE; }

}  // namespace
}  // namespace penstock::spank

using penstock::guard;
namespace hooks = penstock::spank;

#pragma GCC visibility push(default)
extern "C" {

// SPANK_PLUGIN defines const objects. In C++ these have internal linkage, and
// Slurm would not find them, unless they are declared extern first.
extern const char plugin_name[];
extern const char plugin_type[];
extern const unsigned int plugin_version;
extern const unsigned int spank_plugin_version;
SPANK_PLUGIN(penstock, 1)

int slurm_spank_init(spank_t spank, int count, char* arguments[]) {
  return guard("init", 0, [&] {
    const hooks::LaunchTimer timer;
    slurm_debug("penstock: %s (built for Slurm %d.%02d.%d)", penstock::kVersion,
                SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
                SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER),
                SLURM_VERSION_MICRO(SLURM_VERSION_NUMBER));
    hooks::read_arguments(count, arguments);
    return hooks::is_client() || hooks::is_step()
               ? hooks::register_options(spank)
               : 0;
  });
}

int slurm_spank_init_post_opt(spank_t spank, int, char*[]) {
  return guard("init_post_opt", 0, [&] {
    const hooks::LaunchTimer timer;
    if (hooks::is_client()) return hooks::finish_client_options(spank);
    return hooks::is_step() ? hooks::finish_step_options(spank) : 0;
  });
}

int slurm_spank_task_post_fork(spank_t spank, int, char*[]) {
  return guard("task_post_fork", 0,
               [&] { return hooks::announce_task(spank); });
}

int slurm_spank_task_exit(spank_t spank, int, char*[]) {
  return guard("task_exit", 0,
               [&] { return hooks::announce_task_exit(spank); });
}

int slurm_spank_exit(spank_t spank, int, char*[]) {
  return guard("exit", 0, [&] {
    return hooks::is_step() ? hooks::announce_step_end(spank) : 0;
  });
}

int slurm_spank_job_epilog(spank_t spank, int count, char* arguments[]) {
  // Slurm does not call init in the epilog's helper process.
  return guard("job_epilog", 0, [&] {
    hooks::read_arguments(count, arguments);
    return hooks::announce_job_end(spank);
  });
}

}  // extern "C"
#pragma GCC visibility pop
