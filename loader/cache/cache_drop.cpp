// Removal from the cache: damaged samples, and eviction when programs need
// memory.
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "loader/cache/cache_core.h"

namespace penstock {
namespace {

constexpr uint64_t kPageBytes = 4096;
// Pause between evictions, so that the cgroup's figures show the last one.
constexpr uint64_t kDropPeriod_ns = 200000000;

struct Place {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Merges adjacent places, in place: no memory is allocated.
void join(std::vector<Place>& places) {
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.offset < b.offset; });
  size_t runs = 0;
  for (const Place& place : places) {
    Place* const last = runs > 0 ? &places[runs - 1] : nullptr;
    if (last != nullptr && last->offset + last->bytes == place.offset) {
      last->bytes += place.bytes;
    } else {
      places[runs++] = place;
    }
  }
  places.resize(runs);
}

// Frees only whole pages within the run: a hole in part of a page only writes
// zeros and frees nothing.
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
  if (file_->has_place(damaged.offset, bytes)) {
    free_pages(file_->fd(), {damaged.offset, place_bytes(bytes)});
  }
  // The job that filled the sample gets the bytes back.
  FillShare::at(file_->shares(), damaged.member)
      .give_settled(place_bytes(bytes));
  ++damaged_;
  ++file_->header().damaged;
  --file_->header().ready_samples;
  file_->header().ready_bytes -= bytes;
  if (warn_) {
    warn_(file_->path() + ": sample " + std::to_string(index) +
          " was damaged in the cache; it is read from storage");
  }
}

// Frees the place of a process that was killed while it stored the sample, and
// gives the bytes back to its job. If the facts were already overwritten with
// the sample's checksum, the job is unknown and nothing is given back.
void CacheCore::free_left_place(Claim& claim) {
  Slot& slot = file_->slot(claim.index);
  const uint64_t facts = slot.facts;
  const uint64_t bytes = facts & UINT32_MAX;
  const Place left{claim.word.offset, place_bytes(bytes)};
  claim.word.offset = 0;
  slot.word = claim.word.packed();
  if (!file_->has_place(left.offset, bytes)) return;
  free_pages(file_->fd(), left);
  const auto number = static_cast<uint32_t>(facts >> 32);
  if (number >= kShares) return;
  FillShare::at(file_->shares(), number).give(left.bytes);
}

// Whether this job filled the sample. Evicting others' samples would not free
// this job's memory.
bool CacheCore::is_own(const SlotWord& word) const {
  return word.state == SlotWord::State::kReady &&
         word.member == share_.number() && file_->has_place(word.offset, 0);
}

// The job's newest samples that together have `bytes` or somewhat more. They
// are found from sums over 2048 parts of the file: memory is short here, so
// none is allocated.
CacheCore::Newest CacheCore::newest(uint64_t bytes) const {
  constexpr uint64_t kParts = 2048;
  std::array<std::pair<uint64_t, uint64_t>, kParts> parts{};  // bytes, samples
  const uint64_t begin = file_->data_offset();
  const uint64_t end = std::max<uint64_t>(begin, file_->header().end_offset);
  const uint64_t part_bytes = (end - begin) / kParts + 1;
  for (uint64_t index = 0; index < file_->samples(); ++index) {
    const Slot& slot = file_->slot(index);
    const SlotWord found = SlotWord::of(slot.word);
    const uint64_t part = (found.offset - begin) / part_bytes;
    if (!is_own(found) || part >= kParts) continue;
    parts[part].first += place_bytes(slot.facts & UINT32_MAX);
    ++parts[part].second;
  }
  Newest newest;
  uint64_t part = kParts;
  for (uint64_t held = 0; part > 0 && held < bytes;) {
    --part;
    held += parts[part].first;
    newest.samples += parts[part].second;
  }
  newest.begin = begin + part * part_bytes;
  return newest;
}

// A process that is copying an evicted sample finds its slot changed.
void CacheCore::drop_newest(uint64_t bytes) {
  CacheHeader& header = file_->header();
  const Newest dropped = newest(std::max(bytes, kPageBytes));
  std::vector<Place> places;
  places.reserve(dropped.samples);  // may throw, so before any change
  uint64_t freed = 0;
  for (uint64_t index = 0; index < file_->samples(); ++index) {
    Slot& slot = file_->slot(index);
    uint64_t word = slot.word;
    const SlotWord found = SlotWord::of(word);
    if (!is_own(found) || found.offset < dropped.begin) continue;
    if (places.size() == places.capacity()) break;
    const uint64_t stored = slot.facts & UINT32_MAX;
    if (!slot.word.compare_exchange_strong(word, 0)) continue;
    places.push_back({found.offset, place_bytes(stored)});
    freed += place_bytes(stored);
    header.ready_bytes -= stored;
    --header.ready_samples;
    ++header.dropped;
    ++dropped_;
  }
  join(places);
  for (const Place& run : places) free_pages(file_->fd(), run);
  share_.give_settled(freed);
  if (freed > 0 && warn_ && !has_warned_of_drop_.exchange(true)) {
    warn_(file_->path() + ": gave " + std::to_string(freed) +
          " bytes back, because the job's memory runs short; to keep its "
          "samples, give the cache fewer bytes or the job more memory");
  }
}

void CacheCore::give_back_memory() {
  const uint64_t now_ns = monotonic_ns();
  const uint64_t excess = memory_.excess_bytes(now_ns, share_.counts());
  if (excess == 0 || !share_.is_turn(now_ns, kDropPeriod_ns)) return;
  try {
    drop_newest(excess);
  } catch (const std::bad_alloc&) {  // the next read or store tries again
  }
}

}  // namespace penstock
