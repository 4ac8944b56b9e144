// Memory of an exactly known size. An exchange is built twice: in an arena that
// only measures, then in an arena of the measured size.
#pragma once

#include <cstddef>
#include <span>

#include "common/result.h"

namespace penstock::exchange {

// A source of memory for arenas other than mmap().
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // Zeroed memory, aligned to a cache line. Errors: kLimit  not enough memory
  [[nodiscard]] virtual Result<std::byte*> allocate(size_t bytes) = 0;
  virtual void free(std::byte* memory) = 0;
};

// Not thread-safe.
class Arena {
 public:
  // A measuring arena: take() counts bytes and returns empty spans.
  Arena() = default;
  // Zeroed memory of `bytes` bytes, from `source`, which must outlive the
  // arena, or from mmap(). 0 bytes: a measuring arena.
  // Errors: kLimit  not enough memory
  [[nodiscard]] static Result<Arena> of(size_t bytes,
                                        MemorySource* source = nullptr);

  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&&) = delete;
  ~Arena();

  // Aligned to a cache line. REQUIRES: no more is taken than was measured
  // (checked by an assert only).
  template <class T>
  std::span<T> take(size_t count) {
    std::byte* memory = next(count * sizeof(T));
    return {reinterpret_cast<T*>(memory), memory == nullptr ? 0 : count};
  }

  size_t used() const { return used_; }
  size_t capacity() const { return capacity_; }

  // Keeps the memory when the arena is destroyed: MPI may still use buffers in
  // it.
  void abandon() { is_abandoned_ = true; }

 private:
  std::byte* next(size_t bytes);

  MemorySource* source_ = nullptr;
  std::byte* memory_ = nullptr;
  size_t capacity_ = 0;
  size_t used_ = 0;
  bool is_abandoned_ = false;
};

}  // namespace penstock::exchange
