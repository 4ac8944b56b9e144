// Loads the profiles that the options of jobs name.
#pragma once

#include <set>
#include <utility>

#include "node_agent/bounded_child.h"
#include "node_agent/node.h"

namespace penstock {

class ProfileLoader {
 public:
  ProfileLoader(Node& node, BoundedChildren& children, Replan replan)
      : node_(node), children_(children), replan_(std::move(replan)) {}

  // Loads the profile that the job names, unless it has one, asynchronously. A
  // name is an admin's file or a built-in profile. A path is the user's file,
  // and is read with the user's rights. What fails becomes a note of the job.
  void load(Job& job);

  // Makes it the job's profile, and predicts from it.
  void take(Job& job, Profile profile) const;

 private:
  void use(JobId job_id, Result<Profile> profile);

  Node& node_;
  BoundedChildren& children_;
  Replan replan_;
  std::set<JobId> reading_;
};

}  // namespace penstock
