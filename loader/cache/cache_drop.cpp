// What leaves the cache: damaged samples, and memory that programs need.
#include <fcntl.h>

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "loader/cache/cache_core.h"
#include "loader/clock.h"

namespace penstock {
namespace {

constexpr uint64_t kPageBytes = 4096;
// What was given back shows in the group's figures before it is asked again.
constexpr uint64_t kDropPeriod_ns = 200000000;

struct Place {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Places that touch each other as one.
std::vector<Place> joined(std::vector<Place> places) {
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.offset < b.offset; });
  std::vector<Place> runs;
  for (const Place& place : places) {
    if (!runs.empty() &&
        runs.back().offset + runs.back().bytes == place.offset) {
      runs.back().bytes += place.bytes;
    } else {
      runs.push_back(place);
    }
  }
  return runs;
}

// The pages that nothing else is on: a hole of parts of pages would only be
// filled with zeros.
void free_pages(int fd, const Place& run) {
  const uint64_t begin =
      (run.offset + kPageBytes - 1) / kPageBytes * kPageBytes;
  const uint64_t end = (run.offset + run.bytes) / kPageBytes * kPageBytes;
  if (begin >= end) return;
  (void)::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(begin), static_cast<off_t>(end - begin));
}

}  // namespace

void CacheCore::drop_damaged(uint64_t index, uint64_t word, uint64_t bytes) {
  if (!file_->slot(index).word.compare_exchange_strong(word, 0)) return;
  const SlotWord damaged = SlotWord::of(word);
  free_pages(file_->fd(), {damaged.offset, place_bytes(bytes)});
  if (damaged.member == share_.number()) share_.give(place_bytes(bytes));
  ++damaged_;
  ++file_->header().damaged;
  --file_->header().ready_samples;
  file_->header().ready_bytes -= bytes;
  if (warn_) {
    warn_(file_->path() + ": sample " + std::to_string(index) +
          " was damaged in the cache; it is read from storage");
  }
}

// Of the job's own samples, in whose memory the others are not. Who is copying
// one of them finds its slot changed.
void CacheCore::drop_newest(uint64_t bytes) {
  CacheHeader& header = file_->header();
  const uint64_t end = std::min<uint64_t>(drop_end_, header.end_offset);
  const uint64_t begin = std::max(
      header.data_offset, end - std::min(end, std::max(bytes, kPageBytes)));
  drop_end_ = begin;
  std::vector<Place> places;
  uint64_t freed = 0;
  for (uint64_t index = 0; index < header.samples; ++index) {
    Slot& slot = file_->slot(index);
    uint64_t word = slot.word;
    const SlotWord found = SlotWord::of(word);
    if (found.state != SlotWord::State::kReady || found.offset < begin ||
        found.member != share_.number()) {
      continue;
    }
    const uint64_t stored = slot.facts & UINT32_MAX;
    places.push_back({found.offset, place_bytes(stored)});
    if (!slot.word.compare_exchange_strong(word, 0)) {
      places.pop_back();
      continue;
    }
    freed += place_bytes(stored);
    header.ready_bytes -= stored;
    --header.ready_samples;
    ++header.dropped;
    ++dropped_;
  }
  for (const Place& run : joined(std::move(places))) {
    free_pages(file_->fd(), run);
  }
  share_.give(freed);
  if (freed > 0 && warn_ && !has_warned_of_drop_.exchange(true)) {
    warn_(file_->path() + ": gave " + std::to_string(freed) +
          " bytes back, as the job's memory runs short; a smaller cache, or "
          "more memory for the job, keeps what it holds");
  }
}

void CacheCore::give_back_memory() {
  const uint64_t now_ns = monotonic_ns();
  const uint64_t excess = memory_.excess_bytes(now_ns);
  if (excess == 0 || !share_.is_turn(now_ns, kDropPeriod_ns)) return;
  try {
    drop_newest(excess);
  } catch (const std::bad_alloc&) {  // tried again when memory is asked for
  }
}

}  // namespace penstock
