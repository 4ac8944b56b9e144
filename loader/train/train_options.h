// Options of penstock-train.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "penstock/loader/dataset.h"
#include "penstock/loader/sample_cache.h"

namespace penstock {

enum class WaitMode { kSleep, kSpin };

struct TrainOptions {
  std::vector<std::string> data;
  std::optional<RecordLayout> records;
  SampleRules rules;
  size_t batch = 32;
  int crop = 224;
  uint64_t seed = 0;
  bool direct = false;
  std::optional<SampleCacheOptions> cache;  // nullopt: no cache
  std::string cache_peers;  // nodes, or "auto"; "": this node's cache only

  std::string share;  // name of the share; "": no sharing
  uint64_t share_jobs = 1;
  uint32_t share_window = 8;  // batches

  double accelerator_s_per_sample = 0;  // emulated
  WaitMode wait = WaitMode::kSleep;
  double trainer_cpu_ms = 0;  // per step
  bool replay = false;
  std::string meet;  // address of the ranks' barrier; "": no barrier

  size_t threads = 0;      // 0: auto
  size_t threads_min = 1;  // auto only
  size_t threads_max = 0;  // auto only; 0: the machine's CPUs

  double duration_s = 0;  // one of these three is set
  uint64_t samples = 0;
  uint64_t epochs = 0;

  std::string log_path;  // of these three, "": no file
  std::string json_path;
  std::string profile_path;
};

// Parses the command line. True: run the program. False: exit with exit_code,
// which is 0 after help was shown and 2 after an error was printed.
bool parse_train_options(int argc, char** argv, TrainOptions& options,
                         int& exit_code);

}  // namespace penstock
