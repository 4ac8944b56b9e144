#include "loader/cache/cache_fill.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace penstock {
namespace {

constexpr unsigned kReaders = 4;  // storage is faster with parallel requests
// Gives up after as many samples in a row without room, or unreadable.
constexpr uint64_t kMostInVain = 100;
constexpr auto kPeriod = std::chrono::milliseconds(200);

class Filling {
 public:
  Filling(const Dataset& dataset, SampleCache& cache)
      : dataset_(dataset), cache_(cache) {}

  void run_reader();
  // Waits for kPeriod at most. False: readers are still running.
  bool wait_for_readers();
  void stop() { is_over_ = true; }

  uint64_t done() const { return std::min<uint64_t>(next_, dataset_.size()); }
  CacheFilled filled();  // REQUIRES: all readers have ended
  std::optional<Error> error();

 private:
  void fill(SampleReader& reader, uint64_t index);
  void note_error(Error error);

  const Dataset& dataset_;
  SampleCache& cache_;
  std::atomic<uint64_t> next_{0};
  std::atomic<bool> is_over_{false};
  std::atomic<uint64_t> read_bytes_{0};
  std::atomic<uint64_t> without_room_{0};  // samples in a row
  std::atomic<bool> has_no_room_{false};   // for at least one sample
  std::mutex mutex_;                       // guards the members below
  std::condition_variable ended_;
  unsigned readers_ended_ = 0;
  uint64_t in_a_row_ = 0;  // unreadable samples
  // kMostInVain were unreadable in a row. A slow reader may clear in_a_row_
  // afterwards.
  bool is_unreadable_ = false;
  uint64_t unreadable_ = 0;
  std::optional<Error> first_unreadable_;
};

void Filling::note_error(Error error) {
  const std::lock_guard lock(mutex_);
  if (!first_unreadable_) first_unreadable_ = std::move(error);
  ++unreadable_;
  if (++in_a_row_ < kMostInVain) return;
  is_unreadable_ = true;
  is_over_ = true;
}

void Filling::fill(SampleReader& reader, uint64_t index) {
  auto bytes = reader.open(index, SampleSource::kUsual);
  auto sample = bytes ? reader.read() : std::move(bytes).error();
  if (!sample) return note_error(std::move(sample).error());
  {
    const std::lock_guard lock(mutex_);
    in_a_row_ = 0;
  }
  read_bytes_ += sample->size();
  if (cache_.find(index)) {
    without_room_ = 0;
    return;
  }
  has_no_room_ = true;
  if (++without_room_ >= kMostInVain) is_over_ = true;
}

void Filling::run_reader() {
  const auto reader = dataset_.new_reader(ReadMode::kBuffered);
  while (!is_over_) {
    const uint64_t index = next_++;
    if (index >= dataset_.size()) break;
    if (!cache_.find(index)) fill(*reader, index);
  }
  const std::lock_guard lock(mutex_);
  ++readers_ended_;
  ended_.notify_all();
}

bool Filling::wait_for_readers() {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, kPeriod,
                         [this] { return readers_ended_ == kReaders; });
}

std::optional<Error> Filling::error() {
  const std::lock_guard lock(mutex_);
  if (is_unreadable_ || unreadable_ == dataset_.size()) {
    return first_unreadable_;
  }
  return std::nullopt;
}

// Counts at the end: a sample that another process was storing earlier may be
// ready only now.
CacheFilled Filling::filled() {
  CacheFilled filled;
  filled.read_bytes = read_bytes_;
  {
    const std::lock_guard lock(mutex_);
    filled.unreadable_samples = unreadable_;
    filled.first_unreadable = first_unreadable_;
  }
  for (uint64_t index = 0; index < dataset_.size(); ++index) {
    if (const auto bytes = cache_.find(index)) {
      ++filled.cached_samples;
      filled.cached_bytes += *bytes;
    }
  }
  filled.is_full =
      has_no_room_ &&
      filled.cached_samples + filled.unreadable_samples < dataset_.size();
  return filled;
}

}  // namespace

Result<CacheFilled> fill_cache(
    const std::shared_ptr<const Dataset>& dataset,
    const std::shared_ptr<SampleCache>& cache,
    const std::function<bool(uint64_t done, uint64_t all)>& on_progress) {
  const auto cached = with_cache(dataset, cache);
  Filling filling(*cached, *cache);
  std::vector<std::thread> readers;
  for (unsigned i = 0; i < kReaders; ++i) {
    readers.emplace_back([&filling] { filling.run_reader(); });
  }
  while (!filling.wait_for_readers()) {
    if (!on_progress(filling.done(), dataset->size())) filling.stop();
  }
  for (std::thread& reader : readers) reader.join();
  if (auto error = filling.error()) return *std::move(error);
  return filling.filled();
}

}  // namespace penstock
