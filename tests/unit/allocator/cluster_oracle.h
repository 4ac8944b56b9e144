// The cluster's problem as a linear program for Clp. It shares no code with
// the solver: a rank's cores are a variable of their own over the lines of its
// cost curve, and floors are reckoned here again.
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

// What each job is promised, and the most that its threads can do.
Levels floors_of(const ClusterCase& problem);
Levels caps_of(const ClusterCase& problem);

// What all jobs at `levels` use of each resource, by its name.
struct Use {
  double share = 0;                // of its capacity
  std::vector<size_t> users;       // jobs that use some of it
  std::vector<size_t> would_take;  // jobs that would use more if faster
};
std::map<std::string, Use> uses_of(const ClusterCase& problem,
                                   const Levels& levels);

// "" where every capacity, floor and cap holds to 1e-9; else what is broken.
std::string broken_rule(const ClusterCase& problem, const Levels& levels);

// The greatest sum of gains x level, as Clp finds it.
double greatest_gain(const ClusterCase& problem,
                     const std::vector<double>& gains);

}  // namespace penstock::allocator::testing
