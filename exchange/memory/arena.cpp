#include "exchange/memory/arena.h"

#include <sys/mman.h>

#include <cassert>
#include <utility>

namespace penstock::exchange {
namespace {

constexpr size_t kLine = 64;

Result<std::byte*> map(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return Error{Code::kLimit, errno,
                 "no memory for an arena of " + std::to_string(bytes) +
                     " bytes: " + std::strerror(errno)};
  }
  return static_cast<std::byte*>(memory);
}

}  // namespace

Result<Arena> Arena::of(size_t bytes, MemorySource* source) {
  Arena arena;
  if (bytes == 0) return arena;
  const auto memory = source != nullptr ? source->allocate(bytes) : map(bytes);
  if (!memory) return memory.error();
  arena.source_ = source;
  arena.memory_ = *memory;
  arena.capacity_ = bytes;
  return arena;
}

Arena::Arena(Arena&& other) noexcept
    : source_(other.source_),
      memory_(std::exchange(other.memory_, nullptr)),
      capacity_(std::exchange(other.capacity_, 0)),
      used_(std::exchange(other.used_, 0)),
      is_abandoned_(other.is_abandoned_) {}

Arena::~Arena() {
  if (memory_ == nullptr || is_abandoned_) return;
  if (source_ != nullptr) {
    source_->free(memory_);
  } else {
    munmap(memory_, capacity_);
  }
}

std::byte* Arena::next(size_t bytes) {
  std::byte* memory = memory_ == nullptr ? nullptr : memory_ + used_;
  used_ += (bytes + kLine - 1) / kLine * kLine;
  assert(memory_ == nullptr || used_ <= capacity_);
  return memory;
}

}  // namespace penstock::exchange
