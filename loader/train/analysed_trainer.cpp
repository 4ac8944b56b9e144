#include "loader/train/analysed_trainer.h"

#include <algorithm>
#include <cstdlib>
#include <variant>

#include "common/clock.h"
#include "common/host_name.h"
#include "common/units.h"
#include "loader/data/storage_facts.h"
#include "loader/pipeline/thread_choice.h"

namespace penstock {
namespace {

constexpr uint64_t kSend_ns = 100'000'000;
constexpr size_t kMostBatchesSent = 1000;  // keeps a line within its limit
constexpr uint64_t kRests_ns = 100'000'000;
constexpr uint64_t kWaitSlice_ns = 100'000'000;

uint32_t variable_or(const char* first, const char* second, uint32_t other) {
  for (const char* name : {first, second}) {
    const char* text = std::getenv(name);
    const auto value = parse_uint(text ? text : "", 0, kMaxAnalysisRanks);
    if (value) return uint32_t(*value);
  }
  return other;
}

// Slurm's name for the node, which users know; else the host name.
std::string node_name() {
  const char* slurms = std::getenv("SLURMD_NODENAME");
  return slurms && *slurms ? slurms : host_name();
}

}  // namespace

AnalysisHello rank_hello(const std::string& secret, const TrainOptions& options,
                         const Dataset& dataset) {
  AnalysisHello hello;
  hello.secret = secret;
  hello.ranks =
      std::max(1u, variable_or("OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", 1));
  hello.rank = std::min(variable_or("OMPI_COMM_WORLD_RANK", "SLURM_PROCID", 0),
                        hello.ranks - 1);
  hello.node = node_name();
  hello.source = "penstock-train";
  hello.batch_samples = options.batch;
  if (options.threads > 0) hello.workers = options.threads;
  hello.dataset_samples = dataset.size();
  if (const double bytes = bytes_of_samples(dataset); bytes > 0) {
    hello.dataset_bytes = bytes;
  }
  hello.cache_bytes = cache_room_bytes();
  hello.cpus = static_cast<uint32_t>(
      entitled_threads(std::getenv("SLURM_CPUS_PER_TASK"), own_cpus()));
  hello.filesystem = filesystem_of(dataset.path());
  hello.cold = options.direct ? "direct" : "fadvise";
  if (!options.direct && keeps_files_in_memory(hello.filesystem)) {
    hello.cold.clear();
    hello.why = dataset.path() + " is on " + hello.filesystem +
                ", which holds its files in memory";
  }
  return hello;
}

AnalysedTrainer::AnalysedTrainer(const TrainOptions& options, Pipeline& loader,
                                 const Dataset& dataset, Meeting* meeting,
                                 const std::atomic<bool>& stop,
                                 AnalysisLink link)
    : options_(options),
      loader_(loader),
      dataset_(dataset),
      meeting_(meeting),
      stop_(stop),
      link_(std::move(link)),
      accelerator_(options.accelerator_s_per_sample, options.wait,
                   options.trainer_cpu_ms) {}

Status AnalysedTrainer::run(const AnalysisHello& hello) {
  Status said = link_.send(hello);
  if (!said) return said;
  auto is_over = wait_for_order();
  while (is_over && !*is_over && !stop_) {
    Status worked = work();
    if (!worked) return worked;
    limits_.renew(monotonic_ns());
    auto order = link_.receive(0);
    if (!order) return std::move(order).error();
    if (*order) is_over = obey(**order);
  }
  if (!is_over) return std::move(is_over).error();
  return Done{};
}

Result<bool> AnalysedTrainer::wait_for_order() {
  while (!stop_) {
    limits_.renew(monotonic_ns());
    auto order = link_.receive(100);
    if (!order) return std::move(order).error();
    if (*order) return obey(**order);
  }
  return true;
}

Result<bool> AnalysedTrainer::obey(const AnalysisOrder& order) {
  if (std::holds_alternative<AnalysisEnd>(order)) return true;
  if (const auto* cell = std::get_if<AnalysisCell>(&order)) {
    Status begun = begin(*cell);
    if (!begun) return std::move(begun).error();
    return false;
  }
  if (std::holds_alternative<AnalysisAdvance>(order)) {
    Status worked = work();
    if (!worked) return std::move(worked).error();
  }
  return hold();
}

// Reports the number of steps: ranks may wait for each other within a step, and
// only analyze knows which of them must advance.
Result<bool> AnalysedTrainer::hold() {
  Status said = send_batches(monotonic_ns());
  if (said) said = link_.send(AnalysisHeld{steps_});
  if (!said) return std::move(said).error();
  return wait_for_order();
}

Status AnalysedTrainer::begin(const AnalysisCell& cell) {
  // Sends the last cell's remaining batches before its number changes.
  Status said = send_batches(monotonic_ns());
  if (!said) return said;
  if (batch_) loader_.release(*batch_);
  batch_.reset();
  cell_ = cell;
  is_ready_ = false;
  ready_ = {};
  ready_.cell = batches_.cell = cell.cell;
  limits_.set(cell.cores, cell.bytes_per_s, ready_);
  prepared_ns_ = monotonic_ns();
  if (cell.data == AnalysisFeed::kReplay) return Done{};
  const bool is_cold = cell.data == AnalysisFeed::kCold;
  first_batch_ = loader_.set_feed({is_cold ? 0 : cell.subset_samples, is_cold});
  const uint64_t subset = std::min(cell.subset_samples, dataset_.size());
  samples_to_pass_ = is_cold ? 0 : static_cast<int64_t>(subset);
  return Done{};
}

// Takes a batch into batch_, unless there is one.
Status AnalysedTrainer::take_batch() {
  while (!batch_ && !stop_) {
    auto batch = loader_.next(kWaitSlice_ns);
    if (!batch) return std::move(batch).error();
    batch_ = *batch;
    limits_.renew(monotonic_ns());
  }
  return Done{};
}

void AnalysedTrainer::train(size_t samples) {
  accelerator_.step(monotonic_ns(), samples, stop_);
  if (meeting_ != nullptr && !stop_) (void)meeting_->wait(stop_);
  ++steps_;
}

// Whether the loader has filled its ring, and so does not run beside the
// trainer.
bool AnalysedTrainer::loader_rests() {
  const uint64_t prepared = loader_.counters().prepared;
  const uint64_t now_ns = monotonic_ns();
  if (prepared != prepared_) prepared_ns_ = now_ns;
  prepared_ = prepared;
  return now_ns - prepared_ns_ >= kRests_ns;
}

Status AnalysedTrainer::work() {
  const uint64_t begin_ns = monotonic_ns();
  Status taken = take_batch();
  if (!taken || !batch_) return taken;
  const uint64_t wait_ns = monotonic_ns() - begin_ns;
  const bool replays = cell_.data == AnalysisFeed::kReplay;
  const Batch batch = *batch_;
  if (!replays) {
    loader_.release(batch);
    batch_.reset();
  }
  if (replays || cell_.train) train(batch.size);
  if (stop_) return Done{};
  if (!is_ready_) {
    if (!replays && batch.number >= first_batch_) {
      samples_to_pass_ -= static_cast<int64_t>(batch.size);
    }
    is_ready_ = replays ? loader_rests()
                        : batch.number >= first_batch_ && samples_to_pass_ <= 0;
    if (!is_ready_) return Done{};
    // The subset was just read, so it is in the page cache if it fits at all.
    const bool is_limited = cell_.cores || cell_.bytes_per_s;
    if (cell_.data == AnalysisFeed::kMemory && !is_limited &&
        !memory_bytes_per_s_) {
      const double rate =
          read_bytes_per_s(dataset_, loader_.subset(cell_.subset_samples));
      if (rate > 0) memory_bytes_per_s_ = rate;
    }
    return link_.send(ready_);
  }
  return note_batch(wait_ns, batch.size);
}

Status AnalysedTrainer::note_batch(uint64_t wait_ns, size_t samples) {
  const uint64_t now_ns = monotonic_ns();
  batches_.end_ns.push_back(now_ns);
  batches_.samples.push_back(samples);
  batches_.wait_ns.push_back(wait_ns);
  const bool is_due = now_ns - sent_ns_ >= kSend_ns ||
                      batches_.end_ns.size() >= kMostBatchesSent;
  return is_due ? send_batches(now_ns) : Status(Done{});
}

Status AnalysedTrainer::send_batches(uint64_t now_ns) {
  if (batches_.end_ns.empty()) return Done{};
  batches_.cpu_s = static_cast<double>(process_cpu_ns()) * 1e-9;
  batches_.consumed_bytes = static_cast<double>(loader_.counters().bytes);
  batches_.read_bytes = storage_bytes_read();
  batches_.memory_bytes_per_s = memory_bytes_per_s_;
  Status said = link_.send(batches_);
  batches_.end_ns.clear();
  batches_.samples.clear();
  batches_.wait_ns.clear();
  sent_ns_ = now_ns;
  return said;
}

}  // namespace penstock
