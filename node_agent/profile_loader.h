// Loads the profiles that the options of jobs name.
#pragma once

#include <string>
#include <utility>

#include "node_agent/bounded_child.h"
#include "node_agent/node.h"

namespace penstock {

class ProfileLoader {
 public:
  ProfileLoader(Node& node, BoundedChildren& children, Replan replan)
      : node_(node), children_(children), replan_(std::move(replan)) {}

  // Loads the profile that the job names, unless it has one. A name is an
  // admin's file or a built-in profile. A path is the user's file, and is read
  // asynchronously, with the user's rights.
  void load(Job& job);

  // Makes it the job's profile, and predicts from it.
  void take(Job& job, Profile profile) const;

 private:
  void use(JobId job_id, const std::string& text, const std::string& file_name);

  Node& node_;
  BoundedChildren& children_;
  Replan replan_;
};

}  // namespace penstock
