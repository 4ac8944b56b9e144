#include "report/metrics.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <utility>

#include "common/units.h"

namespace penstock {
namespace {

struct Label {
  const char* name;
  std::string value;
};

// A figure with its labels; the writer adds the hostname label.
struct Sample {
  std::vector<Label> labels;
  std::optional<double> value;
};
using Samples = std::vector<Sample>;

enum class Kind { kGauge, kCounter };

// Names are usually ASCII. Other bytes are replaced, because node_exporter
// drops a whole file with one malformed line.
std::string escaped(std::string_view value) {
  std::string out;
  for (char c : value) {
    if (c == '\n') {
      out += "\\n";
    } else if (c < 0x20 || c > 0x7e) {
      out += '?';
    } else {
      if (c == '\\' || c == '"') out += '\\';
      out += c;
    }
  }
  return out;
}

class Writer {
 public:
  explicit Writer(const std::string& hostname) : hostname_(escaped(hostname)) {}

  void begin(const char* name, const char* type, const char* help) {
    name_ = name;
    header_ = fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
  }

  // suffix: appended to the family's name, as in a summary's samples.
  void add(const Sample& sample, const char* suffix = "") {
    if (!sample.value || !std::isfinite(*sample.value)) return;
    text_ += std::exchange(header_, "");
    text_ += fmt::format("{}{}{{hostname=\"{}\"", name_, suffix, hostname_);
    for (const Label& label : sample.labels) {
      text_ += fmt::format(",{}=\"{}\"", label.name, escaped(label.value));
    }
    text_ += fmt::format("}} {}\n", format_number(*sample.value));
  }

  void family(const char* name, Kind kind, const char* help,
              const Samples& samples) {
    begin(name, kind == Kind::kGauge ? "gauge" : "counter", help);
    for (const Sample& sample : samples) add(sample);
  }

  std::string take() { return std::move(text_); }

 private:
  std::string hostname_;
  std::string name_;
  std::string header_;  // written before the first sample
  std::string text_;
};

void write_latency(Writer& out, const char* name, const char* help,
                   const LatencyFigures& figures, double sum_ms) {
  constexpr double kMsPerS = 1000;
  const auto seconds = [](const std::optional<double>& ms) {
    return ms ? std::optional(*ms / kMsPerS) : std::nullopt;
  };
  out.begin(name, "summary", help);
  out.add({{{"quantile", "0.5"}}, seconds(figures.p50_ms)});
  out.add({{{"quantile", "0.99"}}, seconds(figures.p99_ms)});
  out.add({{}, sum_ms / kMsPerS}, "_sum");
  out.add({{}, double(figures.count)}, "_count");
}

void write_agent(Writer& out, const NodeMetrics& metrics) {
  const NodeStatus& status = metrics.status;
  const LatencySums& sums = metrics.latency_sums;
  out.family("penstock_agent_info", Kind::kGauge, "What penstockd runs with.",
             {{{{"version", status.version}, {"policy", status.policy}}, 1}});
  out.family("penstock_agent_last_update_timestamp_seconds", Kind::kGauge,
             "When penstockd wrote these figures.", {{{}, status.time_unix_s}});
  out.family("penstock_agent_cpu_seconds_total", Kind::kCounter,
             "CPU time of penstockd.", {{{}, status.agent_cpu_s}});
  write_latency(out, "penstock_rebalance_duration_seconds",
                "From the end of a job's last task until new grants stand.",
                status.rebalance, sums.rebalance_ms);
  write_latency(out, "penstock_recall_duration_seconds",
                "From a lender wanting its CPU until the away thread is home.",
                status.recall, sums.recall_ms);
  write_latency(out, "penstock_launch_duration_seconds",
                "What the plugin added to the launch of a task.", status.launch,
                sums.launch_ms);
  write_latency(out, "penstock_grant_duration_seconds",
                "From a controller's decision until its grant stands.",
                status.grant, sums.grant_ms);
}

void write_node(Writer& out, const NodeMetrics& metrics) {
  const NodeStatus& status = metrics.status;
  out.family("penstock_node_cores", Kind::kGauge,
             "CPUs that managed jobs may use or lend.", {{{}, status.cores}});
  out.family("penstock_node_lent_cores", Kind::kGauge,
             "CPUs on which loader threads of another job may run now.",
             {{{}, metrics.lent_cores}});
  out.family("penstock_node_idle_cores", Kind::kGauge,
             "CPUs that no job holds and that may be lent.",
             {{{}, metrics.idle_cores}});
  out.family("penstock_node_switched_off", Kind::kGauge,
             "1 while penstock off holds, else 0.",
             {{{}, status.off_since_unix_s ? 1 : 0}});
  out.family("penstock_node_jobs", Kind::kGauge,
             "Managed jobs that run on the node.",
             {{{}, double(status.jobs.size())}});
}

void write_pools(Writer& out, const std::vector<PoolStatus>& pools) {
  Samples bandwidth, used, jobs;
  for (const PoolStatus& pool : pools) {
    const std::vector<Label> labels = {{"pool", pool.name}};
    bandwidth.push_back({labels, pool.bandwidth_bytes_per_s});
    used.push_back({labels, pool.used_bytes_per_s});
    jobs.push_back({labels, double(pool.jobs)});
  }
  out.family("penstock_pool_bandwidth_bytes_per_second", Kind::kGauge,
             "Configured bandwidth of a storage pool.", bandwidth);
  out.family("penstock_pool_used_bytes_per_second", Kind::kGauge,
             "What the node's managed jobs read from the pool.", used);
  out.family("penstock_pool_jobs", Kind::kGauge,
             "Managed jobs on the node that read from the pool.", jobs);
}

// A family of figures with one or more samples per job.
using ReadJob = Samples (*)(const JobReport&, const JobMetrics&);
struct JobFamily {
  const char* name;
  Kind kind;
  const char* help;
  ReadJob read;
};

Samples wall_samples(const JobReport& /*report*/, const JobMetrics& job) {
  const WallParts& wall_s = job.counters.wall_s;
  Samples samples;
  for (const WallPartNames& it : kWallParts) {
    samples.push_back({{{"cause", it.cause}}, wall_s[size_t(it.part)]});
  }
  samples.push_back({{{"cause", "unattributed"}}, wall_s.back()});
  return samples;
}

Samples change_samples(const JobReport& /*report*/, const JobMetrics& job) {
  Samples samples;
  for (int i = 0; i < kGrantCauseCount; ++i) {
    const char* cause = cause_name(static_cast<GrantCause>(i));
    samples.push_back({{{"cause", cause}}, double(job.counters.changes[i])});
  }
  return samples;
}

Samples launch_samples(const JobReport& report, const JobMetrics& /*job*/) {
  Samples samples;
  for (const LaunchProblem& problem : report.launch_problems) {
    samples.push_back({{{"fault", launch_fault_name(problem.fault)}}, 1});
  }
  return samples;
}

Samples ceiling_samples(const JobReport& report, const JobMetrics& /*job*/) {
  Samples samples;
  const auto add = [&](const char* kind, const std::optional<Estimate>& it) {
    if (it) samples.push_back({{{"kind", kind}}, it->value});
  };
  add("predicted", report.ceiling.predicted);
  add("corrected", report.ceiling.corrected);
  add("measured", report.ceiling.measured);
  return samples;
}

constexpr JobFamily kJobFamilies[] = {
    {"penstock_job_info", Kind::kGauge,
     "The storage pool that a job reads from; empty where there is none.",
     [](const JobReport& report, const JobMetrics&) {
       return Samples{{{{"pool", report.bandwidth.pool}}, 1}};
     }},
    {"penstock_job_granted_cores", Kind::kGauge,
     "Cores that a job's loader may use now: its own and lent ones.",
     [](const JobReport&, const JobMetrics& job) {
       return Samples{{{{"place", "home"}}, job.granted_home_cores},
                      {{{"place", "away"}}, job.granted_away_cores}};
     }},
    {"penstock_job_cpu_seconds_total", Kind::kCounter,
     "CPU time of a job's loader, home and away, and of its trainer.",
     [](const JobReport&, const JobMetrics& job) {
       return Samples{{{{"place", "home"}}, job.counters.home_cpu_s},
                      {{{"place", "away"}}, job.counters.away_cpu_s},
                      {{{"place", "trainer"}}, job.counters.trainer_cpu_s}};
     }},
    {"penstock_job_allocated_cores", Kind::kGauge,
     "CPUs that Slurm allocated to a job.",
     [](const JobReport& report, const JobMetrics&) {
       const CoreFigures& cores = report.cores;
       return Samples{{{}, cores.job ? cores.job : cores.allocated}};
     }},
    {"penstock_job_gpus", Kind::kGauge, "GPUs that Slurm gave a job.",
     [](const JobReport&, const JobMetrics& job) {
       return Samples{{{}, double(job.gpus)}};
     }},
    {"penstock_job_gpu_busy_seconds_total", Kind::kCounter,
     "Time in which a job's GPUs were busy, averaged over them.",
     [](const JobReport&, const JobMetrics& job) {
       return Samples{{{}, job.counters.gpu_busy_s}};
     }},
    {"penstock_job_granted_bytes_per_second", Kind::kGauge,
     "Storage bandwidth that a job may use now.",
     [](const JobReport&, const JobMetrics& job) {
       return Samples{{{}, job.granted_bytes_per_s}};
     }},
    {"penstock_job_read_bytes_total", Kind::kCounter,
     "What a job has read from its pool.",
     [](const JobReport&, const JobMetrics& job) {
       return Samples{{{}, job.counters.read_bytes}};
     }},
    {"penstock_job_samples_total", Kind::kCounter,
     "Training samples that a job has reported.",
     [](const JobReport&, const JobMetrics& job) {
       return Samples{{{}, job.counters.samples}};
     }},
    {"penstock_job_rate_samples_per_second", Kind::kGauge,
     "Training samples per second of the last seconds.",
     [](const JobReport&, const JobMetrics& job) {
       return Samples{{{}, job.rate}};
     }},
    {"penstock_job_ceiling_samples_per_second", Kind::kGauge,
     "A job's rate if data were never late.", ceiling_samples},
    {"penstock_job_floor_samples_per_second", Kind::kGauge,
     "The rate that a job's entitlement alone allows.",
     [](const JobReport& report, const JobMetrics&) {
       return Samples{{{}, report.floor_rate}};
     }},
    {"penstock_job_wall_seconds_total", Kind::kCounter,
     "A job's wall time: computing, or stalled by cause.", wall_samples},
    {"penstock_job_grant_changes_total", Kind::kCounter,
     "Changes of a job's grant by cause.", change_samples},
    {"penstock_job_imagined_cores", Kind::kGauge,
     "Cores that an observed job would borrow and lend now.",
     [](const JobReport&, const JobMetrics& job) {
       return Samples{{{{"side", "borrowed"}}, job.imagined_borrowed_cores},
                      {{{"side", "lent"}}, job.imagined_lent_cores}};
     }},
    {"penstock_job_would_have_saved_seconds", Kind::kGauge,
     "Time that an observed job's work would not have taken had it been lent "
     "to.",
     [](const JobReport& report, const JobMetrics&) {
       std::optional<double> saved_s;
       if (report.would_have && report.would_have->saved_s) {
         saved_s = report.would_have->saved_s->value;
       }
       return Samples{{{}, saved_s}};
     }},
    {"penstock_job_launch_problem", Kind::kGauge,
     "1 for each mistake in how a job was started.", launch_samples},
};

void write_jobs(Writer& out, const NodeMetrics& metrics) {
  for (const JobFamily& family : kJobFamilies) {
    Samples samples;
    for (size_t i = 0; i < metrics.status.jobs.size(); ++i) {
      const JobReport& report = metrics.status.jobs[i];
      for (Sample& sample : family.read(report, metrics.jobs[i])) {
        sample.labels.insert(sample.labels.begin(),
                             {"jobid", std::to_string(report.job_id)});
        samples.push_back(std::move(sample));
      }
    }
    out.family(family.name, family.kind, family.help, samples);
  }
}

}  // namespace

std::string to_prometheus(const NodeMetrics& metrics) {
  Writer out(metrics.status.node);
  write_agent(out, metrics);
  write_node(out, metrics);
  write_pools(out, metrics.status.pools);
  write_jobs(out, metrics);
  return out.take();
}

}  // namespace penstock
