// Keeps the reports of ended jobs until all controllers have them: files
// part.JOB.START in StateDir, which outlive a restart of penstockd.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "node_agent/plan/part_queue.h"
#include "wire/messages.h"

namespace penstock {

class PartSpool {
 public:
  PartSpool(int state_dir_fd, size_t controllers)
      : dir_fd_(state_dir_fd), queue_(controllers) {}

  // Takes over the files of an earlier penstockd.
  [[nodiscard]] Status load();

  // Errors: the file cannot be written; the part is sent once at most.
  [[nodiscard]] Status add(const ReportPart& part);

  // The parts to send now, each with the controllers that lack it. One whose
  // file is gone or damaged is let go; one that cannot be read now waits.
  struct Due {
    ReportPart part;
    std::vector<size_t> controllers;
  };
  std::vector<Due> due(double now_s);

  void kept(const ReportKept& kept, size_t controller);
  void hurry(size_t controller) { queue_.hurry(controller); }

  // Parts that were let go before any controller had them.
  uint64_t lost() const { return queue_.lost(); }

  static constexpr size_t kAtOnce = 8;

 private:
  void remove(const PartKey& key) const;

  int dir_fd_;
  PartQueue queue_;
};

}  // namespace penstock
