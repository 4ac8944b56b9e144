// `penstock bench ctld`.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"

namespace penstock {

struct Terminal;  // command.h

struct BenchCtldArguments {
  int agents = 2000;
  double jobs_per_s = 200;
  double seconds = 60;
  int kills = 0;  // of penstockctld, at random times of the storm
  // The penstock.conf of a running controller; "": start our own.
  std::string config_file;
  // Sockets of penstockds of that controller, to sample the time from its
  // decision to the kernel.
  std::vector<std::string> sampled;
};

// json_file: "" for none.
// Errors: kUnavailable  a program or a socket is missing, or penstockctld sends
//                       no grants
[[nodiscard]] Status run_bench_ctld(const BenchCtldArguments& arguments,
                                    const std::string& json_file,
                                    Terminal& terminal);

}  // namespace penstock
