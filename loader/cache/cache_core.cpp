#include "loader/cache/cache_core.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/checksum.h"
#include "common/clock.h"
#include "loader/cache/fault_point.h"

namespace penstock {
namespace {

constexpr uint64_t kLabelBytes = sizeof(int64_t);
constexpr uint64_t kFullPause_ns = 1000000000;
constexpr uint64_t kTouchPeriod_ns = 10000000000;

uint64_t bytes_in(uint64_t facts) { return facts & UINT32_MAX; }

std::string_view text_of(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Slot::facts of a ready sample.
uint64_t facts_of(std::span<const uint8_t> sample, int64_t label) {
  const uint64_t sum = checksum(text_of(sample), static_cast<uint64_t>(label))
                       << 32;
  return sum | (sample.size() + kLabelBytes);
}

bool read_at(int fd, uint64_t offset, std::span<uint8_t> sample,
             int64_t& label) {
  iovec parts[] = {{&label, kLabelBytes}, {sample.data(), sample.size()}};
  const auto all = static_cast<ssize_t>(sample.size() + kLabelBytes);
  // A read from tmpfs is short only in a process that is being killed.
  return ::preadv(fd, parts, 2, static_cast<off_t>(offset)) == all;
}

// 0, or an errno value.
int write_at(int fd, uint64_t offset, const void* bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t put =
        ::pwrite(fd, static_cast<const char*>(bytes) + done, size - done,
                 static_cast<off_t>(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    done += static_cast<size_t>(put);
  }
  return 0;
}

}  // namespace

CacheCore::CacheCore(std::unique_ptr<CacheFile> file, FillShare share,
                     MemoryWatch::Look look, Warn warn)
    : file_(std::move(file)),
      share_(share),
      memory_(std::move(look)),
      warn_(std::move(warn)) {}

std::optional<uint64_t> CacheCore::find(uint64_t index) const {
  const Slot& slot = file_->slot(index);
  const uint64_t word = slot.word.load(std::memory_order_acquire);
  const SlotWord found = SlotWord::of(word);
  if (found.state != SlotWord::State::kReady) return std::nullopt;
  const uint64_t bytes = bytes_in(slot.facts);
  const uint64_t end = file_->header().end_offset;
  if (bytes < kLabelBytes || !file_->has_place(found.offset, bytes) ||
      found.offset + place_bytes(bytes) > end) {
    return std::nullopt;
  }
  return bytes - kLabelBytes;
}

bool CacheCore::read(uint64_t index, std::span<uint8_t> out, int64_t& label) {
  if (!copy(index, out, label)) return false;
  count_hit(out.size());
  return true;
}

bool CacheCore::copy(uint64_t index, std::span<uint8_t> out, int64_t& label) {
  give_back_memory();
  const Slot& slot = file_->slot(index);
  const uint64_t word = slot.word.load(std::memory_order_acquire);
  const SlotWord found = SlotWord::of(word);
  if (found.state != SlotWord::State::kReady) return false;
  const uint64_t facts = slot.facts;
  const bool is_whole = bytes_in(facts) == out.size() + kLabelBytes &&
                        read_at(file_->fd(), found.offset, out, label) &&
                        facts_of(out, label) == facts;
  // During the copy the sample may have been evicted, and its place reused.
  if (slot.word.load(std::memory_order_acquire) != word) return false;
  if (!is_whole) {
    drop_damaged(index, word, bytes_in(facts));
    return false;
  }
  return true;
}

void CacheCore::count_hit(uint64_t bytes) {
  ++hits_;
  hit_bytes_ += bytes;
  ++file_->header().hits;
  file_->header().hit_bytes += bytes;
  const uint64_t now_ns = monotonic_ns();
  uint64_t touched_ns = touched_ns_;
  if (now_ns >= touched_ns + kTouchPeriod_ns &&
      touched_ns_.compare_exchange_strong(touched_ns, now_ns)) {
    file_->touch();
  }
}

// This process's membership; a forked process joins here. nullptr: it cannot
// join, and so cannot store samples.
const Membership* CacheCore::own_membership() {
  const pid_t pid = ::getpid();
  if (file_->membership().pid() == pid) return &file_->membership();
  const std::lock_guard lock(membership_mutex_);
  if (!forked_membership_ || forked_membership_->pid() != pid) {
    auto joined = Membership::join(file_->fd(), file_->members());
    if (!joined) return nullptr;
    forked_membership_ = std::make_unique<Membership>(*std::move(joined));
  }
  return forked_membership_.get();
}

// Whether the claim's process has ended. A holder of the same number with
// another generation joined later.
bool CacheCore::is_abandoned(const SlotWord& word,
                             const Membership& own) const {
  if (word.member == own.number()) return word.generation != own.generation();
  const uint32_t generation = file_->members().generations[word.member];
  return word.generation != generation % SlotWord::kGenerations ||
         !is_member(file_->fd(), word.member);
}

std::optional<CacheCore::Claim> CacheCore::claim(uint64_t index) {
  std::atomic<uint64_t>& word = file_->slot(index).word;
  uint64_t packed = word;
  const SlotWord found = SlotWord::of(packed);
  if (found.state == SlotWord::State::kReady) {
    // Only a damaged slot is ready but not found.
    if (!find(index)) drop_damaged(index, packed, 0);
    return std::nullopt;
  }
  const Membership* own = own_membership();
  if (own == nullptr) return std::nullopt;
  if (found.state == SlotWord::State::kClaimed && !is_abandoned(found, *own)) {
    return std::nullopt;
  }
  const bool is_left = found.state == SlotWord::State::kClaimed;
  const SlotWord claimed{SlotWord::State::kClaimed, own->number(),
                         own->generation(), is_left ? found.offset : 0};
  if (!word.compare_exchange_strong(packed, claimed.packed())) {
    return std::nullopt;
  }
  fault_point("claimed");
  return Claim{index, claimed};
}

// Takes a place at the end of the file, within the job's quota and memory.
bool CacheCore::place(Claim& claim, uint64_t bytes) {
  if (claim.word.offset != 0) free_left_place(claim);
  const uint64_t room = place_bytes(bytes);
  if (!share_.take(room)) return false;
  fault_point("counted");
  // put_in() has checked the room before the count. Several threads may have
  // passed that check at once, so it is repeated after the count.
  FillCounts others = share_.counts();
  others.filled_bytes -= std::min(others.filled_bytes, room);
  if (memory_.room_bytes(monotonic_ns(), others) < room) {
    share_.give(room);
    return false;
  }
  const uint64_t offset = file_->header().end_offset.fetch_add(room);
  if (!file_->has_place(offset, bytes)) {
    share_.give(room);
    return false;
  }
  Slot& slot = file_->slot(claim.index);
  slot.facts = uint64_t{share_.number()} << 32 | bytes;
  claim.word.offset = offset;
  slot.word = claim.word.packed();
  fault_point("placed");
  return true;
}

bool CacheCore::write(const Claim& claim, std::span<const uint8_t> sample,
                      int64_t label) {
  const uint64_t offset = claim.word.offset;
  int error = write_at(file_->fd(), offset, &label, kLabelBytes);
  fault_point("half written");
  if (error == 0) {
    error = write_at(file_->fd(), offset + kLabelBytes, sample.data(),
                     sample.size());
  }
  fault_point("written");
  if (error == 0) return true;
  full_until_ns_ = monotonic_ns() + kFullPause_ns;
  warn_full(std::strerror(error));
  return false;
}

void CacheCore::publish(const Claim& claim, std::span<const uint8_t> sample,
                        int64_t label) {
  Slot& slot = file_->slot(claim.index);
  slot.facts = facts_of(sample, label);
  fault_point("described");
  const SlotWord ready{SlotWord::State::kReady, share_.number(), 0,
                       claim.word.offset};
  slot.word.store(ready.packed(), std::memory_order_release);
  share_.settle(place_bytes(sample.size() + kLabelBytes));
  ++file_->header().ready_samples;
  file_->header().ready_bytes += sample.size() + kLabelBytes;
}

// A claim without a place has not counted any bytes.
void CacheCore::abandon(const Claim& claim, uint64_t bytes) {
  if (claim.word.offset != 0) {
    (void)::fallocate(file_->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      static_cast<off_t>(claim.word.offset),
                      static_cast<off_t>(place_bytes(bytes)));
    share_.give(place_bytes(bytes));
  }
  file_->slot(claim.index).word = 0;
}

void CacheCore::count_miss() {
  ++misses_;
  ++file_->header().misses;
}

void CacheCore::count_peer(uint64_t bytes) {
  ++peer_;
  peer_bytes_ += bytes;
}

void CacheCore::store(uint64_t index, std::span<const uint8_t> sample,
                      int64_t label) {
  count_miss();
  put_in(index, sample, label);
}

void CacheCore::put_in(uint64_t index, std::span<const uint8_t> sample,
                       int64_t label) {
  const uint64_t bytes = sample.size() + kLabelBytes;
  const uint64_t now_ns = monotonic_ns();
  if (bytes > UINT32_MAX || now_ns < full_until_ns_) return;
  if (memory_.room_bytes(now_ns, share_.counts()) < place_bytes(bytes)) {
    warn_full("the job's memory cgroup leaves no more");
    give_back_memory();
    return;
  }
  auto claimed = claim(index);
  if (!claimed) return;
  if (place(*claimed, bytes) && write(*claimed, sample, label)) {
    publish(*claimed, sample, label);
  } else {
    abandon(*claimed, bytes);
  }
}

void CacheCore::warn_full(const std::string& why) {
  if (!warn_ || has_warned_.exchange(true)) return;
  warn_(file_->path() + ": not filled to the " +
        std::to_string(share_.most_bytes()) + " bytes that it may have, but " +
        std::to_string(share_.filled_bytes()) + ": " + why);
}

SampleCacheCounters CacheCore::counters() const {
  return {hits_, hit_bytes_, misses_, damaged_, dropped_, peer_, peer_bytes_};
}

}  // namespace penstock
