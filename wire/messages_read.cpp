// Reads messages from JSON and validates every field.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/units.h"
#include "wire/messages.h"

namespace penstock {
namespace {

using nlohmann::json;
using namespace bounds;  // NOLINT: the bounds of these messages

constexpr size_t kMaxNameBytes = 64;

// Reads the fields of one object; keeps the first error.
class Fields {
 public:
  Fields(const json& object, std::string where)
      : object_(object), where_(std::move(where)) {
    if (!object_.is_object()) fail("", "an object");
  }

  double number(const char* key, double low, double high) {
    const json* found = find(key);
    if (found == nullptr || !found->is_number()) {
      fail(key, fmt::format("a number from {} to {}", low, high));
      return low;
    }
    const double value = found->get<double>();
    if (value >= low && value <= high) return value;
    fail(key, fmt::format("{} to {}, not {}", low, high, value));
    return low;
  }

  uint64_t whole(const char* key, uint64_t low, uint64_t high = UINT64_MAX) {
    const json* found = find(key);
    if (found != nullptr && found->is_number_unsigned()) {
      const auto value = found->get<uint64_t>();
      if (value >= low && value <= high) return value;
    }
    fail(key, fmt::format("a whole number from {} to {}", low, high));
    return low;
  }

  bool flag(const char* key) {
    const json* found = find(key);
    if (found != nullptr && found->is_boolean()) return found->get<bool>();
    fail(key, "true or false");
    return false;
  }

  std::string text(const char* key) {
    const json* found = find(key);
    if (found != nullptr && found->is_string()) {
      const auto value = found->get<std::string>();
      if (value.size() <= kMaxNameBytes) return printable(value, kMaxNameBytes);
    }
    fail(key, "a text of at most 64 bytes");
    return "";
  }

  // True if the field exists; older senders leave some out.
  bool has(const char* key) const { return find(key) != nullptr; }

  const json& list(const char* key, size_t most) {
    static const json kNone = json::array();
    const json* found = find(key);
    if (found == nullptr || !found->is_array()) {
      fail(key, "a list");
      return kNone;
    }
    if (found->size() > most) {
      fail(key, fmt::format("at most {} entries", most), Code::kLimit);
      return kNone;
    }
    return *found;
  }

  const json& object(const char* key) {
    static const json kNone = json::object();
    const json* found = find(key);
    if (found != nullptr && found->is_object()) return *found;
    fail(key, "an object");
    return kNone;
  }

  void take(const Status& status) {
    if (status_ && !status) status_ = status;
  }
  const Status& status() const { return status_; }

 private:
  const json* find(const char* key) const {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }

  void fail(const char* key, const std::string& allowed,
            Code code = Code::kInvalidArgument) {
    if (!status_) return;
    status_ = Error{code, 0, where_ + ": " + key + ": allowed: " + allowed};
  }

  const json& object_;
  std::string where_;
  Status status_ = Done{};
};

template <class T>
Result<T> done(const Fields& fields, T value) {
  if (!fields.status()) return fields.status().error();
  return value;
}

Result<RunTotals> read_run(const json& object) {
  Fields in(object, "run");
  RunTotals run;
  for (const RunField& field : kRunFields) {
    if (in.has(field.name)) {
      run.*field.value = in.number(field.name, 0, field.most);
    }
  }
  if (in.status() && !adds_up(run)) {
    return invalid("run: wall_s: allowed: what compute and the stalls take");
  }
  return done(in, run);
}

Result<JobPart> read_part(const json& object) {
  Fields in(object, "part");
  JobPart part;
  part.id = in.whole("id", 1, UINT32_MAX);
  part.uid = uint32_t(in.whole("uid", 0, UINT32_MAX));
  part.name = in.text("name");
  part.started_unix_s = in.number("started_unix_s", 0, kMaxSeconds);
  part.ranks = in.number("ranks", kLeast, kMaxRanks);
  part.shares = in.number("shares", kLeast, kMaxRanks);
  part.weight = in.number("weight", kLeast, kMaxWeight);
  part.in_cores = in.flag("in_cores");
  part.ceiling = in.number("ceiling", kLeast, kMaxRate);
  part.loader_cpu_s_per_sample = in.number(
      "loader_cpu_s_per_sample", part.in_cores ? 0 : kLeast, kMaxCost_s);
  part.storage_bytes_per_sample =
      in.number("storage_bytes_per_sample", 0, kMaxBytes);
  part.pool = in.text("pool");
  part.entitled_cores = in.number("entitled_cores", 0, kMaxCores);
  part.max_cores = in.number("max_cores", 0, kMaxLoaderCores);
  part.max_bytes_per_s = in.number("max_bytes_per_s", 0, kMaxBytes);
  part.on_entitlement = in.flag("on_entitlement");
  part.pool_pressed = in.flag("pool_pressed");
  part.is_measured = in.flag("is_measured");
  if (in.has("model")) part.model = in.text("model");
  if (in.has("batch")) part.batch = uint32_t(in.whole("batch", 0, UINT32_MAX));
  if (in.has("trainer_reserve_cores")) {
    part.trainer_reserve_cores =
        in.number("trainer_reserve_cores", 0, kMaxCores);
  }
  if (in.has("mean_rate")) part.mean_rate = in.number("mean_rate", 0, kMaxRate);
  if (in.has("grant_changes"))
    part.grant_changes = in.whole("grant_changes", 0);
  if (in.has("run")) {
    Result<RunTotals> run = read_run(in.object("run"));
    if (!run) return std::move(run).error().wrap("part");
    part.run = *run;
  }
  return done(in, std::move(part));
}

Result<EarlierFigures> read_earlier(const json& object) {
  Fields in(object, "earlier");
  EarlierFigures earlier;
  earlier.ceiling = in.number("ceiling", kLeast, kMaxRate);
  earlier.loader_cpu_s_per_sample =
      in.number("loader_cpu_s_per_sample", 0, kMaxCost_s);
  earlier.trainer_cpu_s_per_sample =
      in.number("trainer_cpu_s_per_sample", 0, kMaxCost_s);
  earlier.storage_bytes_per_sample =
      in.number("storage_bytes_per_sample", 0, kMaxBytes);
  earlier.relative_error = in.number("relative_error", 0, kMaxRelativeError);
  return done(in, earlier);
}

Result<AgentMessage> read_hello(const json& body) {
  Fields in(body, "hello");
  NodeHello hello;
  hello.cpus = in.number("cpus", 0, kMaxCores);
  hello.loader_cores = in.number("loader_cores", 0, kMaxCores);
  hello.term = in.whole("term", 0);
  hello.silence_s = in.number("silence_s", 0, kMaxSeconds);
  for (const json& entry : in.list("parts", kMaxParts)) {
    Result<JobPart> part = read_part(entry);
    if (!part) return std::move(part).error().wrap("hello");
    const bool twice =
        std::any_of(hello.parts.begin(), hello.parts.end(),
                    [&](const JobPart& it) { return it.id == part->id; });
    if (twice) return invalid(fmt::format("hello: job {} twice", part->id));
    hello.parts.push_back(*std::move(part));
  }
  return done<AgentMessage>(in, std::move(hello));
}

Result<AgentMessage> read_job(const json& body) {
  Fields in(body, "job");
  JobChanged changed;
  changed.loader_cores = in.number("loader_cores", 0, kMaxCores);
  const json& object = in.object("part");
  if (!in.status()) return in.status().error();
  Result<JobPart> part = read_part(object);
  if (!part) return std::move(part).error().wrap("job");
  changed.part = *std::move(part);
  return AgentMessage(std::move(changed));
}

Result<AgentMessage> read_job_ended(const json& body) {
  Fields in(body, "job_ended");
  JobEnded ended;
  ended.loader_cores = in.number("loader_cores", 0, kMaxCores);
  ended.id = in.whole("id", 1, UINT32_MAX);
  if (in.has("last")) {
    Result<JobPart> last = read_part(in.object("last"));
    if (!last) return std::move(last).error().wrap("job_ended");
    if (last->id != ended.id) {
      return invalid(fmt::format("job_ended: last is of job {}, not of {}",
                                 last->id, ended.id));
    }
    ended.last = *std::move(last);
  }
  return done<AgentMessage>(in, std::move(ended));
}

Result<AgentMessage> read_heartbeat(const json& body) {
  Fields in(body, "heartbeat");
  Heartbeat beat;
  beat.loader_cores = in.number("loader_cores", 0, kMaxCores);
  beat.term = in.whole("term", 0);
  beat.version = in.whole("version", 0);
  beat.silence_s = in.number("silence_s", 0, kMaxSeconds);
  return done<AgentMessage>(in, beat);
}

Result<AgentMessage> read_refused(const json& body) {
  Fields in(body, "refused");
  Refused refused;
  refused.term = in.whole("term", 0);
  refused.version = in.whole("version", 0);
  refused.highest_term = in.whole("highest_term", 0);
  return done<AgentMessage>(in, refused);
}

Result<JobGrant> read_job_grant(const json& object) {
  Fields in(object, "grant of a job");
  JobGrant grant;
  grant.id = in.whole("id", 1, UINT32_MAX);
  grant.floor = in.number("floor", 0, kMaxRate);
  grant.rate = in.number("rate", 0, kMaxRate);
  if (in.has("earlier")) {
    Result<EarlierFigures> earlier = read_earlier(in.object("earlier"));
    if (!earlier) return std::move(earlier).error().wrap("grant of a job");
    grant.earlier = *earlier;
  }
  return done(in, grant);
}

Result<PoolGrant> read_pool_grant(const json& object) {
  Fields in(object, "grant of a pool");
  PoolGrant grant;
  grant.name = in.text("name");
  grant.bytes_per_s = in.number("bytes_per_s", 0, kMaxBytes);
  grant.node_shares = in.number("node_shares", 0, kMaxRanks);
  grant.all_shares = in.number("all_shares", 0, 1e12);
  grant.bandwidth_bytes_per_s =
      in.number("bandwidth_bytes_per_s", kLeast, kMaxBytes);
  return done(in, std::move(grant));
}

Result<ControllerMessage> read_grant(const json& body) {
  Fields in(body, "grant");
  NodeGrant grant;
  grant.term = in.whole("term", 1);
  grant.version = in.whole("version", 1);
  grant.decided_unix_s = in.number("decided_unix_s", 0, kMaxSeconds);
  grant.seen_sequence = in.whole("seen_sequence", 0);
  for (const json& entry : in.list("jobs", kMaxParts)) {
    Result<JobGrant> job = read_job_grant(entry);
    if (!job) return std::move(job).error();
    grant.jobs.push_back(*job);
  }
  for (const json& entry : in.list("pools", kMaxGrantPools)) {
    Result<PoolGrant> pool = read_pool_grant(entry);
    if (!pool) return std::move(pool).error();
    grant.pools.push_back(*std::move(pool));
  }
  return done<ControllerMessage>(in, std::move(grant));
}

Result<ControllerMessage> read_beat(const json& body) {
  Fields in(body, "beat");
  Beat beat;
  beat.term = in.whole("term", 1);
  return done<ControllerMessage>(in, beat);
}

Error unknown_type(const std::string& type) {
  return invalid("a message of type " + penstock::quoted(type) +
                 ", which this program does not know");
}

}  // namespace

Result<AgentMessage> read_agent_message(const std::string& type,
                                        const json& body) {
  if (type == "hello") return read_hello(body);
  if (type == "job") return read_job(body);
  if (type == "job_ended") return read_job_ended(body);
  if (type == "heartbeat") return read_heartbeat(body);
  if (type == "refused") return read_refused(body);
  return unknown_type(type);
}

Result<ControllerMessage> read_controller_message(const std::string& type,
                                                  const json& body) {
  if (type == "grant") return read_grant(body);
  if (type == "beat") return read_beat(body);
  if (type == "resync") return ControllerMessage(Resync{});
  return unknown_type(type);
}

}  // namespace penstock
