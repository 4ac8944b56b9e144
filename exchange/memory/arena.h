// Memory whose amount is known before any of it is used: an exchange is built
// once in an arena that only measures, and then in one of just that size.
#pragma once

#include <cstddef>
#include <span>

#include "common/result.h"

namespace penstock::exchange {

// Where the memory of arenas is from, if not the system's.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // Zeros, on a cache line's boundary. Errors: kLimit  there is not that much
  [[nodiscard]] virtual Result<std::byte*> allocate(size_t bytes) = 0;
  virtual void free(std::byte* memory) = 0;
};

// For one thread.
class Arena {
 public:
  // One that measures: what it gives is empty.
  Arena() = default;
  // Zeroed memory of so many bytes, of a source that outlives it, or the
  // system's. Errors: kLimit  there is not that much
  [[nodiscard]] static Result<Arena> of(size_t bytes,
                                        MemorySource* source = nullptr);

  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&&) = delete;
  ~Arena();

  // On a cache line's boundary. REQUIRES: one that measured gave as much.
  template <class T>
  std::span<T> take(size_t count) {
    std::byte* memory = next(count * sizeof(T));
    return {reinterpret_cast<T*>(memory), memory == nullptr ? 0 : count};
  }

  size_t used() const { return used_; }
  size_t capacity() const { return capacity_; }

  // The memory stays when the arena goes: for buffers that MPI still has.
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
