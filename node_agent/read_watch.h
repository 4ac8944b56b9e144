// Finds out what loaders read from network file systems, one job after another.
// The broker's child looks, so that no process of a user can hold penstockd up.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>

#include "node_agent/bounded_child.h"
#include "node_agent/node.h"
#include "node_agent/plan/file_reads.h"

namespace penstock {

class ReadWatch {
 public:
  ReadWatch(Node& node, BoundedChildren& children)
      : node_(node), children_(children) {}

  // Asks for a look at the job's loader processes.
  void want(JobId job);

  // What the last two looks tell, once: the next call needs a further look.
  // nullopt: there is no news. Empty: nothing is read from such a file system.
  std::optional<std::optional<NetworkReads>> take(JobId job);

  // Forgets jobs that are not in the registry.
  void forget_ended();

 private:
  struct Record {
    std::optional<ReadsLook> last;
    std::set<NetworkFile> files;  // at most kMostFiles
    std::optional<std::optional<NetworkReads>> news;
  };
  static constexpr size_t kMostFiles = 256;

  void look_at_next();
  void add(JobId job, size_t processes, const Result<std::string>& text);

  Node& node_;
  BoundedChildren& children_;
  std::map<JobId, Record> records_;
  std::deque<JobId> wanted_;
  bool is_looking_ = false;
};

}  // namespace penstock
