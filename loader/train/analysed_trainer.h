// The training loop under `penstock analyze`: it runs cells instead of epochs.
#pragma once

#include <atomic>
#include <optional>

#include "common/result.h"
#include "loader/train/accelerator.h"
#include "loader/train/analysis_link.h"
#include "loader/train/meeting.h"
#include "loader/train/rank_limits.h"
#include "loader/train/train_options.h"
#include "penstock/loader/pipeline.h"

namespace penstock {

// This rank's hello message. cold and filesystem are those of the dataset's
// path.
AnalysisHello rank_hello(const std::string& secret, const TrainOptions& options,
                         const Dataset& dataset);

class AnalysedTrainer {
 public:
  // All references must outlive it; meeting may be null.
  AnalysedTrainer(const TrainOptions& options, Pipeline& loader,
                  const Dataset& dataset, Meeting* meeting,
                  const std::atomic<bool>& stop, AnalysisLink link);

  // Sends hello and follows orders until AnalysisEnd or stop.
  // Errors: those of Pipeline::next() and of AnalysisLink
  [[nodiscard]] Status run(const AnalysisHello& hello);

 private:
  // True: the analysis is over.
  Result<bool> obey(const AnalysisOrder& order);
  Result<bool> hold();
  Result<bool> wait_for_order();
  Status begin(const AnalysisCell& cell);
  Status work();  // one batch of the current cell
  Status take_batch();
  void train(size_t samples);
  bool loader_rests();
  Status note_batch(uint64_t wait_ns, size_t samples);
  Status send_batches(uint64_t now_ns);

  const TrainOptions& options_;
  Pipeline& loader_;
  const Dataset& dataset_;
  Meeting* const meeting_;
  const std::atomic<bool>& stop_;
  AnalysisLink link_;
  EmulatedAccelerator accelerator_;
  RankLimits limits_;

  AnalysisCell cell_;
  AnalysisReady ready_;
  bool is_ready_ = false;
  uint64_t first_batch_ = 0;     // of the cell's feed
  int64_t samples_to_pass_ = 0;  // left until the cell is ready
  uint64_t prepared_ = 0;        // by the loader, at the last check
  uint64_t prepared_ns_ = 0;     // last time at which that grew
  std::optional<Batch> batch_;   // taken, and not released yet
  uint64_t steps_ = 0;
  std::optional<double> memory_bytes_per_s_;  // nullopt: not measured yet
  AnalysisBatches batches_;
  uint64_t sent_ns_ = 0;
};

}  // namespace penstock
