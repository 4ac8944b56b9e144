// A read-only pass-through of a folder for libfuse's low-level API. Its answers
// come from an AnswerQueue.
#pragma once

// Lowest API version with all functions used here: libfuse 3.2.
#define FUSE_USE_VERSION 32
#include <fuse3/fuse_lowlevel.h>

#include <memory>
#include <string>
#include <utility>

#include "bench/slow_tier/answer_queue.h"
#include "bench/slow_tier/inode_table.h"
#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

class PassThrough {
 public:
  // Errors: kNotFound, kPermissionDenied, kIo  source is not a folder, or
  //                                            cannot be opened
  [[nodiscard]] static Result<std::unique_ptr<PassThrough>> open(
      const std::string& source);

  // The callbacks; their user data is the PassThrough.
  static const fuse_lowlevel_ops& operations();

  // Call start() before the first request and stop() after the last. start()
  // creates threads, so call it after a fork.
  void start(const AnswerTimes& times);
  void stop() { answers_.reset(); }

 private:
  friend struct PassThroughOperations;

  PassThrough(UniqueFd root, const SourceFile& file)
      : root_(std::move(root)), inodes_(file) {}

  UniqueFd root_;
  InodeTable inodes_;
  std::unique_ptr<AnswerQueue> answers_;
};

}  // namespace penstock
