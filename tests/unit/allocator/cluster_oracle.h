// The cluster's problem as a linear program for Clp. It shares no code with the
// solver: a rank's cores are a separate variable above the lines of its cost
// curve, and floors are computed independently.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "select_ext/allocator/cluster.h"

namespace penstock::allocator::testing {

struct ClusterCase {
  std::vector<ClusterNode> nodes;
  std::vector<double> pools;
  std::vector<ClusterJob> jobs;
};

// By job, in order.
using Levels = std::vector<double>;  // rate / ceiling

// The floor of each job, and the highest level that its threads allow.
Levels floors_of(const ClusterCase& problem);
Levels caps_of(const ClusterCase& problem);

// Use of each resource by all jobs at `levels`, by the resource's name.
struct Use {
  double share = 0;                // of its capacity
  std::vector<size_t> users;       // jobs that use some of it
  std::vector<size_t> would_take;  // jobs that would use more if faster
};
std::map<std::string, Use> uses_of(const ClusterCase& problem,
                                   const Levels& levels);

// "" if every capacity, floor and cap holds to 1e-9; else the broken rule.
std::string broken_rule(const ClusterCase& problem, const Levels& levels);

// The greatest sum of gains x level, found by Clp.
double greatest_gain(const ClusterCase& problem,
                     const std::vector<double>& gains);

}  // namespace penstock::allocator::testing
