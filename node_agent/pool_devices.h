// The block devices of the configured pools, through which the kernel counts
// and limits jobs' reads.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "node_agent/bounded_child.h"
#include "node_agent/node.h"
#include "node_agent/path_devices.h"

namespace penstock {

class PoolDevices {
 public:
  PoolDevices(Node& node, BoundedChildren& children, Replan replan)
      : node_(node), children_(children), replan_(std::move(replan)) {}

  // Finds the devices of the configured paths. Asynchronous: until the result,
  // a pool keeps the device of its path.
  void look_up();

  // By index into Config::pools; "": unknown.
  const std::vector<std::string>& names() const { return names_; }
  std::string of(const Job& job) const;  // "": no pool, or unknown

  // Counts the I/O of the task's processes as the job's. Attaches processes
  // older than the job's group; later ones are born into it.
  void attach(Job& job, const Task& task) const;
  void attach_all() const;

 private:
  void take(const std::vector<std::string>& paths,
            const std::vector<PathDevice>& found);
  void set_names();

  Node& node_;
  BoundedChildren& children_;
  Replan replan_;
  std::vector<std::string> names_;
  std::map<std::string, std::string> device_of_path_;
};

}  // namespace penstock
