#include "node_agent/plan/job_accounts.h"

#include <utility>

namespace penstock {

void JobAccounts::set(JobId job, std::string account) {
  if (account.empty()) {
    forget(job);
    return;
  }
  accounts_[job] = std::move(account);
  if (accounts_.size() > kMaxJobs) accounts_.erase(accounts_.begin());
}

std::string JobAccounts::of(JobId job) const {
  const auto found = accounts_.find(job);
  return found == accounts_.end() ? "" : found->second;
}

}  // namespace penstock
