#include "tests/model/cluster_agent.h"

#include <algorithm>

namespace penstock::model {
namespace {

constexpr uint64_t kJobs = 6;  // ids; the same on several nodes: it spans them
constexpr double kRounding = 1e-6;
const std::vector<std::string> kSharedPools = {"net"};

Figure exactly(double value) { return Figure{value, value, value}; }

}  // namespace

ClusterAgent::ClusterAgent(Trial& trial, std::string name, double now_s)
    : trial_(trial), name_(std::move(name)) {
  input_.pools = {kBandwidth};
  for (int cpu = 0; cpu < kCpus; ++cpu) {
    input_.core_of_cpu.push_back(cpu / 2);
    input_.numa_node_of_cpu.push_back(0);
    input_.idle_cpus = input_.idle_cpus | CpuSet({cpu});
  }
  grant_.emplace(kTimeout_s, now_s);
}

void ClusterAgent::restart(double now_s, bool forgets_term) {
  if (forgets_term) saved_term_ = 0;
  grant_.emplace(kTimeout_s, now_s, saved_term_);
  applied_ = {saved_term_, 0};
  report_ = ClusterReport();
  beaten_s_ = -1e9;
}

PlanJob ClusterAgent::random_job(uint64_t id, const CpuSet& cpus) {
  PlanJob job;
  job.id = id;
  job.uid = uint32_t(1000 + id % 2);
  job.account = id % 3 == 0 ? "" : "a" + std::to_string(id % 3);
  job.own_cpus = job.home_cpus = cpus;
  job.reserve_cores = trial_.between(0, double(cpus.size()) + 1);
  if (!trial_.one_in(4)) {
    Prediction costs;
    costs.ceiling_samples_per_s = exactly(trial_.between(1, 9000));
    costs.loader_cpu_s_per_sample = exactly(trial_.between(1e-4, 2e-3));
    costs.storage_bytes_per_sample = exactly(trial_.between(0, 10));
    job.prediction = costs;
  }
  job.ranks = uint32_t(1 + trial_.below(4));
  job.shares = uint32_t(1 + trial_.below(job.ranks));
  job.weight = trial_.between(0.1, 4) * job.shares;
  job.used_loader_cores = trial_.between(0, 4);
  job.starved = trial_.one_in(3);
  job.loader_units = int(trial_.below(5));
  job.elastic = trial_.one_in(2);
  job.max_threads = trial_.one_in(3) ? uint32_t(1 + trial_.below(8)) : 0;
  job.apart = job.max_threads > 0 && trial_.one_in(2);
  job.max_bytes_per_s = trial_.one_in(4) ? 1 + trial_.below(4000) : 0;
  job.pool = trial_.one_in(2) ? 0 : -1;
  job.pool_pressed = trial_.one_in(6);
  job.on_entitlement = trial_.one_in(8);
  job.stopped = trial_.one_in(10);
  job.share = trial_.one_in(4) ? 1 : 0;
  return job;
}

void ClusterAgent::change_jobs() {
  const uint64_t id = 1 + trial_.below(kJobs);
  const auto found =
      std::find_if(input_.jobs.begin(), input_.jobs.end(),
                   [&](const PlanJob& job) { return job.id == id; });
  input_.barred.to_anybody.erase(id);
  if (found != input_.jobs.end()) {
    if (trial_.one_in(2)) {
      *found = random_job(id, found->own_cpus);
      if (trial_.one_in(4)) input_.barred.to_anybody.insert(id);
    } else {
      input_.idle_cpus = input_.idle_cpus | found->own_cpus;
      input_.jobs.erase(found);
    }
  } else if (!input_.idle_cpus.empty()) {
    std::vector<int> cpus = input_.idle_cpus.cpus();
    cpus.resize(1 + trial_.below(cpus.size()));
    input_.jobs.push_back(random_job(id, CpuSet(cpus)));
    input_.idle_cpus = input_.idle_cpus - CpuSet(cpus);
  }
  input_.lend_across = LendAcross(trial_.below(3));
  plan();
}

std::vector<AgentMessage> ClusterAgent::report() {
  std::vector<AgentMessage> messages =
      report_.update(loader_cores(input_), job_parts(input_, kSharedPools, {}));
  trial_.must(report_.parts().size() == input_.jobs.size(),
              "{} remembers {} parts of {} jobs", name_, report_.parts().size(),
              input_.jobs.size());
  return messages;
}

NodeHello ClusterAgent::hello(double now_s) const {
  NodeHello hello;
  hello.cpus = kCpus;
  hello.loader_cores = report_.loader_cores();
  hello.term = grant_->term();
  hello.silence_s = grant_->silence_s(now_s);
  hello.parts = report_.parts();
  return hello;
}

std::vector<AgentMessage> ClusterAgent::take(const ControllerMessage& message,
                                             double now_s) {
  const uint64_t before = grant_->term();
  const bool was_lost = is_lost(now_s);
  std::vector<AgentMessage> replies;
  if (const auto* grant = std::get_if<NodeGrant>(&message)) {
    take_grant(*grant, now_s, replies);
  } else if (const auto* beat = std::get_if<Beat>(&message)) {
    if (const auto refused = grant_->take(*beat, now_s)) {
      replies.emplace_back(*refused);
    }
  } else {
    replies.emplace_back(hello(now_s));
  }
  trial_.must(was_lost || grant_->term() >= before,
              "{}: its term fell from {} to {}", name_, before, grant_->term());
  return replies;
}

// Without the controller of its term for so long that it follows an older one.
bool ClusterAgent::is_lost(double now_s) const {
  return grant_->silence_s(now_s) >= ClusterGrant::kMostSilence * kTimeout_s;
}

void ClusterAgent::take_grant(const NodeGrant& grant, double now_s,
                              std::vector<AgentMessage>& replies) {
  const std::pair offered(grant.term, grant.version);
  const bool is_wanted =
      offered > applied_ || (is_lost(now_s) && grant.term < applied_.first);
  const ClusterGrant::Taken taken = grant_->take(grant, now_s);
  if (taken.refused) replies.emplace_back(*taken.refused);
  trial_.must(taken.is_new == is_wanted,
              "{} {} a grant of term {}, version {} after {}, {}", name_,
              taken.is_new ? "applies" : "refuses", offered.first,
              offered.second, applied_.first, applied_.second);
  if (!taken.is_new) return;
  applied_ = offered;
  if (taken.is_new_term) saved_term_ = grant.term;
  trial_.must(saved_term_ == grant.term, "{} has not saved term {}", name_,
              grant.term);
  plan();
}

std::vector<AgentMessage> ClusterAgent::on_timer(double now_s) {
  std::vector<AgentMessage> messages;
  const bool ended = grant_->expire(now_s);
  trial_.must(!grant_->is_in_force() || grant_->silence_s(now_s) < kTimeout_s,
              "{}: a grant is in force {:.0f} s after its controller was heard",
              name_, grant_->silence_s(now_s));
  if (ended) plan();
  if (ended || now_s - beaten_s_ >= kTimeout_s / 3) {
    beaten_s_ = now_s;
    messages.emplace_back(
        Heartbeat{report_.loader_cores(), grant_->term(),
                  grant_->is_in_force() ? grant_->version() : 0,
                  grant_->silence_s(now_s)});
  }
  return messages;
}

void ClusterAgent::plan() {
  PlanInput input = input_;
  apply_grant(*grant_, kSharedPools, input);
  const Result<Plan> plan = make_plan(input);
  check(input, plan ? *plan : entitlement_plan(input));
}

// The planner's part of the promise: no job falls below its floor, and CPUs
// are lent by those who lend, and to others. Two borrowers may share a CPU.
void ClusterAgent::check(const PlanInput& input, const Plan& plan) const {
  trial_.must(plan.grants.size() == input.jobs.size(),
              "{}: {} grants for {} jobs", name_, plan.grants.size(),
              input.jobs.size());
  double away_cores = 0;
  for (size_t i = 0; i < input.jobs.size(); ++i) {
    const PlanJob& job = input.jobs[i];
    const PlannedGrant& grant = plan.grants[i];
    const JobNeeds needs = needs_of(job);
    trial_.must(grant.rate >= grant.floor * (1 - kRounding),
                "{}, job {}: rate {} is under its floor {}", name_, job.id,
                grant.rate, grant.floor);
    trial_.must(grant.home_cores >= needs.home_cores - kRounding,
                "{}, job {}: {} of {} cores at home", name_, job.id,
                grant.home_cores, needs.home_cores);
    trial_.must((grant.away_cpus & job.own_cpus).empty(),
                "{}, job {} borrows its own CPUs", name_, job.id);
    away_cores += grant.away_cores;
    for (int cpu : grant.away_cpus.cpus()) {
      const auto lender = plan.lender_of_cpu.find(cpu);
      trial_.must(lender != plan.lender_of_cpu.end(),
                  "{}: CPU {} is lent by nobody", name_, cpu);
      check_consent(input, job, cpu, lender->second);
    }
  }
  trial_.must(away_cores <= double(plan.lender_of_cpu.size()) + kRounding,
              "{}: {} cores of {} CPUs are lent", name_, away_cores,
              plan.lender_of_cpu.size());
}

// The lender holds the CPU, may be lent from, and is one of those between whom
// LendAcross= allows loans. 0: an idle CPU.
void ClusterAgent::check_consent(const PlanInput& input,
                                 const PlanJob& borrower, int cpu,
                                 uint64_t lender) const {
  if (lender == 0) {
    trial_.must(input.idle_cpus.contains(cpu), "{}: CPU {} is not idle", name_,
                cpu);
    return;
  }
  const auto owner =
      std::find_if(input.jobs.begin(), input.jobs.end(),
                   [&](const PlanJob& job) { return job.id == lender; });
  trial_.must(owner != input.jobs.end() && owner->home_cpus.contains(cpu),
              "{}: job {} lends CPU {}, which it does not hold", name_, lender,
              cpu);
  trial_.must(!input.barred.to_anybody.contains(lender),
              "{}: job {} lends CPU {}, but is barred", name_, lender, cpu);
  const bool same_user = owner->uid == borrower.uid;
  const bool same_account =
      owner->account == borrower.account && !owner->account.empty();
  const bool agreed =
      input.lend_across == LendAcross::kAny ||
      (input.lend_across == LendAcross::kUser && same_user) ||
      (input.lend_across == LendAcross::kAccount &&
       (same_account ||
        (owner->account.empty() && borrower.account.empty() && same_user)));
  trial_.must(agreed,
              "{}: job {} lends CPU {} to job {} against LendAcross=", name_,
              lender, cpu, borrower.id);
}

}  // namespace penstock::model
