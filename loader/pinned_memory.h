// Whole pages of memory that a GPU can copy from by itself, once CUDA was told.
//
// Of CUDA only the driver's library is used, and only where the process has
// loaded it already: nothing here is linked to it, loads it or makes a context.
#pragma once

#include <cstddef>
#include <string>

namespace penstock {

class PinnableMemory {
 public:
  explicit PinnableMemory(size_t bytes);  // throws std::bad_alloc
  // The GPU must have done with it. Where CUDA does not give it up, the memory
  // is kept.
  ~PinnableMemory();
  PinnableMemory(const PinnableMemory&) = delete;
  PinnableMemory& operator=(const PinnableMemory&) = delete;

  void* begin() const { return begin_; }

  // For one thread at a time, as what follows. Pins it for all contexts, if the
  // calling thread has one; what was pinned or refused stays so. Pinned memory
  // is not there in children of a fork: they would leave the parent other
  // pages than those that the GPU knows.
  void try_pin();
  bool is_pinned() const { return context_ != nullptr; }
  // What CUDA said; empty: nothing, as it was not asked.
  const std::string& refusal() const { return refusal_; }

 private:
  bool unpin();

  const size_t bytes_;
  void* const begin_;
  void* context_ = nullptr;  // in which it was pinned
  std::string refusal_;
};

}  // namespace penstock
