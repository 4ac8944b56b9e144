// Shared by the subcommands of `penstock`. Each returns a Status; main() turns
// its error into a message and an exit code.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/result.h"
#include "report/render.h"

namespace penstock {

inline constexpr const char* kConfigPath = "/etc/slurm/penstock.conf";

// Exit codes, the same for every subcommand.
inline constexpr int kExitOk = 0;
inline constexpr int kExitInternal = 1;
inline constexpr int kExitUsage = 2;   // arguments, or a file's content
inline constexpr int kExitNoData = 3;  // no data, or no permission
int exit_code(Code code);

// The output stream and its properties.
struct Terminal {
  std::ostream& out;
  bool interactive = false;    // a terminal: live views redraw in place
  TextStyle style;             // colour and bars suit it
  uint64_t refresh_ms = 1000;  // of live views
};

// The site's settings, unless overridden on the command line.
struct Site {
  std::string config_path;  // "": kConfigPath, which may be missing
  std::string socket_path;  // "": as configured
  std::string report_dir;   // "": as configured
};
// Errors: load_config()'s. A missing kConfigPath gives the defaults.
[[nodiscard]] Result<Config> site_config(const Site& site);

struct ReportArguments {
  uint32_t job_id = 0;
  bool json = false;
  bool follow = false;
  std::string html_file;  // "": none; "-": standard output
};
// Asks penstockd while the job runs, else reads its file in ReportDir. With
// html_file nothing else is printed.
[[nodiscard]] Status run_report(const ReportArguments& arguments,
                                const Config& config, Terminal& terminal);

struct TopArguments {
  bool once = false;
  bool json = false;
};
[[nodiscard]] Status run_top(const TopArguments& arguments,
                             const Config& config, Terminal& terminal);

// Loads the file and prints the effective settings.
[[nodiscard]] Status run_check_config(const std::string& file,
                                      Terminal& terminal);

// `penstock off` and `penstock on`: disables and enables Penstock on this node.
// Works without a running penstockd, because the next one finds the mark.
[[nodiscard]] Status run_switch(bool off, const Config& config,
                                Terminal& terminal);

struct DoctorArguments {
  std::string config_path;  // "": kConfigPath, which may be missing
  bool json = false;
};
// Checks Penstock's requirements on this node. Returns kExitInternal if a check
// failed.
[[nodiscard]] int run_doctor(const DoctorArguments& arguments,
                             Terminal& terminal);

// Files of measured rates; "": none.
struct PredictTables {
  std::string calibrate;
  std::string evaluate;
  std::string output;     // for the parameters; "": standard output
  std::string json_file;  // for the figures
};

// A job as described by its user. 0 and "": unknown.
struct DescribeArguments {
  std::string model;
  std::string task, family;
  std::string gpu;
  int gpus = 1;
  int nodes = 1;
  double batch_per_gpu = 0;
  std::string precision;
  std::string framework = "pytorch";
  std::string layout;
  bool compiled = false;
  double params_m = 0, fwd_gflops = 0, activations_m = 0;
  double peak_tflops = 0, memory_gbs = 0;  // of a GPU that is not listed
  std::string interconnect;                // a rate
  std::string bytes_per_sample;
  std::string cpu_class;
  std::vector<std::string> measured;  // BATCH:RATE
  std::string parameters;             // a file; "": the built-in ones
};

// Options for a rank's ceiling at other densities of the gradient exchange. 0
// and "": take the profile's or the model's value.
struct ExchangeArguments {
  std::optional<std::string> density;  // in parse_amounts()'s form
  std::string costs_file;
  std::string interconnect;  // a rate
  double params_m = 0;
  double batch = 0;
  int gpus = 0;
  int nodes = 0;
};

struct PredictArguments {
  std::string profile;    // a path has a '/'; else a name
  std::string cores;      // "": not limited
  std::string bandwidth;  // "": not limited
  bool json = false;
  bool list_models = false;
  bool list_gpus = false;
  PredictTables tables;
  DescribeArguments job;
  std::optional<std::string> density;  // in parse_amounts()'s form
  std::string exchange_costs;          // a file; "": none
};
[[nodiscard]] Status run_predict(const PredictArguments& arguments,
                                 const Config& config, Terminal& terminal);

// Amounts in parse_amounts()'s form; nullopt: not requested.
struct WhatIfArguments {
  std::string profile;  // a path has a '/'; else a name
  std::optional<std::string> cores, cache, bandwidth, accelerator, ranks;
  bool json = false;
  std::string svg_file;  // "": none
  ExchangeArguments exchange;
};
[[nodiscard]] Status run_what_if(const WhatIfArguments& arguments,
                                 const Config& config, Terminal& terminal);

struct ControllerArguments {
  uint32_t job_id = 0;     // 0: all; not for nodes
  std::string user;        // a name or an id; "": all visible users
  std::string node;        // "": all
  double days = 0;         // history: maximum age; 0: all
  size_t limit = 0;        // history: maximum number; 0: all
  std::string controller;  // "": as configured
  bool json = false;
};
// These commands query penstockctld.
[[nodiscard]] Status run_jobs(const ControllerArguments& arguments,
                              const Config& config, Terminal& terminal);
[[nodiscard]] Status run_nodes(const ControllerArguments& arguments,
                               const Config& config, Terminal& terminal);
[[nodiscard]] Status run_history(const ControllerArguments& arguments,
                                 const Config& config, Terminal& terminal);
// Writes SubmitTable from the present profiles.
[[nodiscard]] Status run_publish(const Config& config, Terminal& terminal);

struct SimulateArguments {
  std::string trace;
  std::string profiles;  // "": none
  int nodes = 4;
  int gpus_per_node = 8;
  double cores_per_node = 24;
  double memory_gb_per_node = 500;
  double round_s = 300;  // 0: no rounds
  std::string placement = "pack";
  std::string policy = "penstock";
  std::string order = "fifo";
  double core_scale = 3;
  std::vector<std::string> left_out_models;
  size_t max_jobs = 0;  // 0: all
  double prediction_error = 1;
  uint64_t seed = 1;
  std::string json_file;  // "": none
  std::string svg_file;   // "": none
};
[[nodiscard]] Status run_simulate(const SimulateArguments& arguments,
                                  Terminal& terminal);

}  // namespace penstock
