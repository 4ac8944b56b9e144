// Memory in whole pages that CUDA can pin, so that a GPU copies it by DMA.
//
// Uses only CUDA's driver library, and only if the process has already loaded
// it: this code does not link or load it, and creates no context.
#pragma once

#include <cstddef>
#include <string>

namespace penstock {

class PinnableMemory {
 public:
  explicit PinnableMemory(size_t bytes);  // throws std::bad_alloc
  // REQUIRES: no copy to a GPU is in progress. If CUDA cannot unpin the memory,
  // it is leaked.
  ~PinnableMemory();
  PinnableMemory(const PinnableMemory&) = delete;
  PinnableMemory& operator=(const PinnableMemory&) = delete;

  void* begin() const { return begin_; }

  // The functions below are for one thread at a time.

  // Pins the memory for all contexts, if the calling thread has a context. Does
  // nothing after a success or a refusal.
  //
  // Forked children do not get pinned memory (MADV_DONTFORK): copy-on-write
  // could give the parent new pages, while the GPU copies from the old ones.
  void try_pin();
  bool is_pinned() const { return context_ != nullptr; }
  // CUDA's error message if it refused; else empty.
  const std::string& refusal() const { return refusal_; }

 private:
  bool unpin();

  const size_t bytes_;
  void* const begin_;
  void* context_ = nullptr;  // in which it was pinned
  std::string refusal_;
};

}  // namespace penstock
