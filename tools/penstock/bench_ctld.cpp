#include "tools/penstock/bench_ctld.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>
#include <random>

#include "tools/penstock/agent_crowd.h"
#include "tools/penstock/bench_figures.h"
#include "tools/penstock/command.h"
#include "tools/penstock/private_ctld.h"

namespace penstock {
namespace {

constexpr double kStart_s = 120;
constexpr double kFinish_s = 60;
constexpr double kTimeout_s = 30;

Error need_root() {
  return Error{Code::kPermissionDenied, 0,
               "bench ctld starts penstockctld, which runs as root: use sudo"};
}

// Three sockets an agent at the most, theirs and ours.
void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         size_t(share * double(values.size())))];
}

BenchFigure single(const char* name, const char* unit, double value,
                   size_t runs = 1) {
  return {name, value, unit, 0, runs};
}

// One pool is short, as jobs of all nodes read from each.
std::vector<std::string> config_lines(int agents) {
  return {fmt::format("ControllerTimeout={}", kTimeout_s),
          fmt::format("Pool=p0 Path=/p0 Bandwidth={}M", 50 * agents),
          fmt::format("Pool=p1 Path=/p1 Bandwidth={}M", 1000 * agents),
          fmt::format("Pool=p2 Path=/p2 Bandwidth={}M", 1000 * agents)};
}

// Kills spread over the storm at random, one second apart at the least.
Status storm(const BenchCtldArguments& arguments, AgentCrowd& crowd,
             PrivateCtld& ctld) {
  std::mt19937_64 random(1);
  std::vector<double> cuts_s;
  for (int i = 0; i < arguments.kills; ++i) {
    cuts_s.push_back(
        std::uniform_real_distribution<double>(0, arguments.seconds)(random));
  }
  cuts_s.push_back(arguments.seconds);
  std::sort(cuts_s.begin(), cuts_s.end());
  double from_s = 0;
  for (size_t i = 0; i < cuts_s.size(); ++i) {
    Status part = crowd.storm(cuts_s[i] - from_s);
    if (!part) return part;
    from_s = cuts_s[i];
    if (i + 1 == cuts_s.size()) break;
    if (Status again = ctld.kill_and_restart(); !again) return again;
  }
  return Done{};
}

std::vector<BenchFigure> figures_of(const BenchCtldArguments& arguments,
                                    const CrowdFigures& seen,
                                    const PrivateCtld& ctld, double ctld_cpu_s,
                                    double munged_cpu_s) {
  std::vector<BenchFigure> figures = {
      single("agents", "1", arguments.agents),
      single("jobs_per_s", "1/s", double(seen.jobs_started) / seen.storm_s),
      single("events", "1", double(seen.events)),
      single("lost", "1", double(seen.lost)),
      single("resyncs", "1", double(seen.resyncs)),
      single("receipt_p99_ms", "ms", percentile(seen.receipt_ms, 0.99),
             seen.receipt_ms.size()),
      single("answer_p50_ms", "ms", percentile(seen.answer_ms, 0.5),
             seen.answer_ms.size()),
      single("answer_p99_ms", "ms", percentile(seen.answer_ms, 0.99),
             seen.answer_ms.size()),
      single("ctld_cpus", "1", ctld_cpu_s / seen.storm_s),
      single("munged_cpus", "1", munged_cpu_s / seen.storm_s),
      single("ctld_memory_mb", "MB", ctld.ctld_memory_mb())};
  if (arguments.kills > 0) {
    figures.push_back(single("kills", "1", arguments.kills));
  }
  return figures;
}

}  // namespace

Status run_bench_ctld(const BenchCtldArguments& arguments,
                      const std::string& json_file, Terminal& terminal) {
  if (::geteuid() != 0) return need_root();
  raise_file_limit();
  const auto progress = [&](const std::string& next) {
    if (terminal.interactive) terminal.out << next << "..." << std::endl;
  };
  Result<PrivateCtld> ctld = PrivateCtld::start(config_lines(arguments.agents));
  if (!ctld) return std::move(ctld).error();
  AgentCrowd::Settings settings;
  settings.agents = arguments.agents;
  settings.jobs_per_s = arguments.jobs_per_s;
  settings.timeout_s = kTimeout_s;
  settings.endpoint = ctld->endpoint();
  settings.munge_socket = ctld->munge_socket();
  settings.pools = {"p0", "p1", "p2"};
  Result<AgentCrowd> crowd = AgentCrowd::create(std::move(settings));
  if (!crowd) return std::move(crowd).error();
  progress(fmt::format("{} agents say hello", arguments.agents));
  if (Status started = crowd->start(kStart_s); !started) return started;
  progress("the storm");
  const double ctld_cpu_s = ctld->ctld_cpu_s();
  const double munged_cpu_s = ctld->munged_cpu_s();
  if (Status done = storm(arguments, *crowd, *ctld); !done) return done;
  const double used_s = ctld->ctld_cpu_s() - ctld_cpu_s;
  const double sealed_s = ctld->munged_cpu_s() - munged_cpu_s;
  if (Status done = crowd->finish(kFinish_s); !done) return done;
  const std::vector<BenchFigure> figures =
      figures_of(arguments, crowd->figures(), *ctld, used_s, sealed_s);
  const std::string machine = machine_text();
  terminal.out << machine << "\n" << figures_table(figures);
  if (json_file.empty()) return Done{};
  return write_text(json_file, figures_json("ctld", machine, figures));
}

}  // namespace penstock
