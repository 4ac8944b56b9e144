#include "tests/model/cluster_liar.h"

#include "wire/bounds.h"

namespace penstock::model {
namespace {

double number(Trial& trial) {
  static const std::vector<double> kBorders = {
      0,  -1,  1e-12, bounds::kLeast, 0.5,  1,    3, 8,
      64, 1e5, 1e6,   1e12,           1e15, 1e300};
  return trial.one_in(2) ? trial.one_of(kBorders) : trial.between(0, 16);
}

uint64_t term(Trial& trial, uint64_t highest) {
  static const std::vector<uint64_t> kBorders = {
      0, 1, 16, bounds::kMaxTerm - 1, bounds::kMaxTerm, UINT64_MAX};
  return trial.one_in(3) ? trial.one_of(kBorders)
                         : highest + trial.below(1 << 17);
}

double silence(Trial& trial) {
  return trial.one_in(2) ? 0 : trial.between(0, 200);
}

JobPart part(Trial& trial) {
  JobPart part;
  part.id = 1 + trial.below(12);
  part.uid = uint32_t(trial.below(3));
  part.ranks = number(trial);
  part.shares = number(trial);
  part.weight = number(trial);
  part.in_cores = trial.one_in(3);
  part.ceiling = number(trial);
  part.loader_cpu_s_per_sample = number(trial) / 1000;
  part.storage_bytes_per_sample = number(trial);
  part.pool = trial.one_in(2) ? "net" : trial.one_in(2) ? "" : "no such pool";
  part.entitled_cores = number(trial);
  part.max_cores = number(trial);
  part.max_bytes_per_s = number(trial);
  part.on_entitlement = trial.one_in(4);
  part.pool_pressed = trial.one_in(4);
  return part;
}

AgentMessage made(Trial& trial, uint64_t highest) {
  switch (trial.below(5)) {
    case 0: {
      NodeHello hello;
      hello.cpus = number(trial);
      hello.loader_cores = trial.one_in(2) ? hello.cpus : number(trial);
      hello.term = term(trial, highest);
      hello.silence_s = silence(trial);
      for (uint64_t left = trial.below(3); left > 0; --left) {
        hello.parts.push_back(part(trial));
      }
      return hello;
    }
    case 1:
      return JobChanged{number(trial), part(trial)};
    case 2:
      return JobEnded{number(trial), 1 + trial.below(12), {}};
    case 3:
      return Heartbeat{number(trial), term(trial, highest), trial.below(100),
                       silence(trial)};
    default:
      return Refused{term(trial, highest), trial.below(100),
                     term(trial, highest)};
  }
}

}  // namespace

std::optional<AgentMessage> random_lie(Trial& trial, uint64_t highest_term) {
  const TypedBody body = body_of(made(trial, highest_term));
  Result<AgentMessage> read = read_agent_message(body.type, body.body);
  if (!read) return std::nullopt;
  return *std::move(read);
}

}  // namespace penstock::model
