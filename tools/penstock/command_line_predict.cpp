#include "tools/penstock/command_options.h"
#include "tools/simulate/simulation.h"

namespace penstock {
namespace {

void add_costs(CLI::App* command, DescribeArguments& it) {
  const CLI::Range positive(0.0, 1e9);
  command
      ->add_option("--gflops", it.fwd_gflops,
                   "forward GFLOPs per sample, 2 x multiply-adds")
      ->check(positive);
  command->add_option("--params", it.params_m, "parameters, in millions")
      ->check(positive);
  command
      ->add_option("--activations", it.activations_m,
                   "layer outputs per sample, in millions")
      ->check(positive);
  command
      ->add_option("--peak-tflops", it.peak_tflops,
                   "peak of a GPU type that --list-gpus lacks")
      ->check(positive);
  command
      ->add_option("--memory-bandwidth", it.memory_gbs,
                   "and its memory bandwidth in GB/s")
      ->check(positive);
}

// All other options of an exchange require --density.
CLI::Option* add_density(CLI::App* command, std::optional<std::string>& density,
                         std::string& costs_file) {
  CLI::Option* out =
      command->add_option("--density", density,
                          "share of the gradients' elements that ranks "
                          "exchange: 1%, 0.1,1,10%");
  command
      ->add_option("--exchange-costs", costs_file,
                   "file of costs that bench exchange measured")
      ->needs(out);
  return out;
}

void add_exchange(CLI::App* command, ExchangeArguments& it) {
  CLI::Option* density = add_density(command, it.density, it.costs_file);
  command->add_option("--gpus", it.gpus, "ranks that exchange, on all nodes")
      ->check(CLI::Range(1, 1000000))
      ->needs(density);
  command->add_option("--nodes", it.nodes, "their nodes")
      ->check(CLI::Range(1, 1000000))
      ->needs(density);
  command
      ->add_option("--interconnect", it.interconnect,
                   "bandwidth between their nodes, such as 1G")
      ->needs(density);
  command->add_option("--params", it.params_m, "parameters, in millions")
      ->check(CLI::Range(1e-6, 1e9))
      ->needs(density);
  command->add_option("--batch", it.batch, "samples of a rank in a step")
      ->check(CLI::Range(1.0, 1e9))
      ->needs(density);
}

void add_described_job(CLI::App* command, DescribeArguments& it) {
  command->add_option("--model", it.model, "predict a job of this model");
  command->add_option("--gpu", it.gpu, "on this GPU type");
  command->add_option("--gpus", it.gpus, "GPUs over all nodes")
      ->check(CLI::Range(1, 1000000));
  command->add_option("--nodes", it.nodes, "nodes")
      ->check(CLI::Range(1, 1000000));
  command->add_option("--batch", it.batch_per_gpu, "samples per GPU and step")
      ->check(CLI::Range(1.0, 1e9));
  command->add_option("--precision", it.precision,
                      "FP32, TF32, AMP, BF16, FP16 or FP8");
  command
      ->add_option("--framework", it.framework,
                   "pytorch, tensorflow, mxnet or paddle")
      ->check(CLI::IsMember({"pytorch", "tensorflow", "mxnet", "paddle"}));
  command->add_option("--layout", it.layout, "memory layout, nchw or nhwc")
      ->check(CLI::IsMember({"nchw", "nhwc"}));
  command->add_flag("--compiled", it.compiled, "a graph compiler is used");
  command->add_option("--task", it.task, "such as image_classification");
  command->add_option("--family", it.family, "such as resnet");
  add_costs(command, it);
  command->add_option("--interconnect", it.interconnect,
                      "bandwidth between nodes, such as 3G");
  command->add_option("--bytes-per-sample", it.bytes_per_sample,
                      "stored bytes of a sample, such as 110K");
  command->add_option("--cpu-class", it.cpu_class,
                      "what preparing a sample is: raw or jpeg");
  command->add_option("--measured", it.measured,
                      "BATCH:RATE, a measured point of the job (repeatable)");
  command->add_option("--parameters", it.parameters,
                      "what --calibrate wrote, instead of the built-in");
}

void add_tables(CLI::App* command, PredictTables& it) {
  command->add_option("--calibrate", it.calibrate,
                      "learn from a table of measured rates, CSV");
  command->add_option("-o,--output", it.output,
                      "write what was learned here [standard output]");
  command->add_option("--evaluate", it.evaluate,
                      "score a table: left out of --calibrate's, or in parts");
}

void add_cluster_shape(CLI::App* command, SimulateArguments& it) {
  command->add_option("--nodes", it.nodes, "nodes")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--gpus-per-node", it.gpus_per_node, "GPUs of a node")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--cores-per-node", it.cores_per_node, "its loader cores")
      ->check(CLI::Range(0.001, 4096.0))
      ->capture_default_str();
  command
      ->add_option("--memory-per-node", it.memory_gb_per_node,
                   "its memory in GB, for greedy and tune")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
}

}  // namespace

void add_predict(CommandLine& line) {
  PredictArguments& it = line.predict;
  CLI::App* command =
      line.app.add_subcommand("predict", "Predict a job's ceiling and demand");
  command->add_option("PROFILE", it.profile,
                      "a profile's name, or a file's path (with a '/')");
  command->add_option("--cores", it.cores,
                      "predict the rate with so many loader cores");
  command->add_option("--bandwidth", it.bandwidth,
                      "and so much storage bandwidth, such as 200M");
  add_described_job(command, it.job);
  add_density(command, it.density, it.exchange_costs);
  add_tables(command, it.tables);
  command->add_flag("--list-models", it.list_models, "the built-in models");
  command->add_flag("--list-gpus", it.list_gpus, "the built-in GPU types");
  command
      ->add_option("--json", it.tables.json_file,
                   "print JSON; with --evaluate FILE, write the figures there")
      ->expected(0, 1);
  add_site(command, line.site, false);
}

void add_what_if(CommandLine& line) {
  WhatIfArguments& it = line.what_if;
  CLI::App* command = line.app.add_subcommand(
      "what-if", "Show a job's rate with more cores, cache or bandwidth");
  command
      ->add_option("PROFILE", it.profile,
                   "a profile's name, or a file's path (with a '/')")
      ->required();
  command->add_option("--cores", it.cores,
                      "cores of a rank: 1..24, 0.25..2:0.25, 1,2,4; one sets "
                      "them for the other tables");
  command->add_option("--cache", it.cache,
                      "share of the bytes read that a cache serves: 0..100%");
  command->add_option("--bandwidth", it.bandwidth,
                      "storage bandwidth of a rank: 50M..400M");
  command->add_option("--accelerator", it.accelerator,
                      "an accelerator so many times as fast: 2x, 1x..4x");
  command->add_option("--ranks", it.ranks,
                      "ranks that share the node's cores and bandwidth: 1..8");
  add_exchange(command, it.exchange);
  command->add_flag("--json", it.json, "print JSON");
  command
      ->add_option("--svg", it.svg_file,
                   "also draw the curves here; -: on standard output, alone")
      ->check(has_text);
  add_site(command, line.site, false);
}

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const simulate::NamedPolicy& named : simulate::named_policies()) {
    names.push_back(named.name);
  }
  return names;
}

void add_simulate(CommandLine& line) {
  SimulateArguments& it = line.simulate;
  CLI::App* command = line.app.add_subcommand(
      "simulate", "Run a trace of jobs through the allocator");
  command->add_option("--trace", it.trace, "Synergy's or Muri's trace, CSV")
      ->required();
  command->add_option("--profiles", it.profiles,
                      "Synergy's profiles, JSON, for its traces");
  add_cluster_shape(command, it);
  command
      ->add_option("--round", it.round_s,
                   "seconds after which all jobs are placed anew; 0: never")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command->add_option("--placement", it.placement, "pack or spread")
      ->check(CLI::IsMember({"pack", "spread"}))
      ->capture_default_str();
  command->add_option("--policy", it.policy, "who gets which rate")
      ->check(CLI::IsMember(policy_names()))
      ->capture_default_str();
  command->add_option("--order", it.order, "fifo or srtf")
      ->check(CLI::IsMember({"fifo", "srtf"}))
      ->capture_default_str();
  command
      ->add_option("--core-scale", it.core_scale,
                   "Muri: cores that load at its resource_time_0")
      ->check(CLI::Range(0.001, 1000.0))
      ->capture_default_str();
  command->add_option("--without", it.left_out_models, "leave a model out")
      ->delimiter(',');
  command->add_option("--max-jobs", it.max_jobs, "the first so many; 0: all");
  command
      ->add_option("--prediction-error", it.prediction_error,
                   "cores are predicted wrong by up to this factor")
      ->check(CLI::Range(1.0, 1000.0))
      ->capture_default_str();
  command->add_option("--seed", it.seed, "of the errors");
  command->add_option("--json", it.json_file, "also write the figures here");
  command->add_option("--svg", it.svg_file, "draw utilisation over time here");
}

}  // namespace penstock
