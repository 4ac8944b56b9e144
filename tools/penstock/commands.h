// The subcommands of `penstock`, each in a file of its own: they add their
// options to `command`, and return what runs them (command.h).
#pragma once

#include "tools/penstock/command.h"

namespace penstock {

Run add_advise(CLI::App* command);
Run add_analyze(CLI::App* command);
Run add_bench(CLI::App* command);
Run add_cache(CLI::App* command);
Run add_check_config(CLI::App* command);
Run add_dataset(CLI::App* command);
Run add_doctor(CLI::App* command);
Run add_history(CLI::App* command);
Run add_jobs(CLI::App* command);
Run add_lmdb(CLI::App* command);
Run add_nodes(CLI::App* command);
Run add_off(CLI::App* command);
Run add_on(CLI::App* command);
Run add_policy(CLI::App* command);
Run add_predict(CLI::App* command);
Run add_publish(CLI::App* command);
Run add_report(CLI::App* command);
Run add_run(CLI::App* command);
Run add_simulate(CLI::App* command);
Run add_top(CLI::App* command);
Run add_what_if(CLI::App* command);

}  // namespace penstock
