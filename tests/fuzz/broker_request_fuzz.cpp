// What a penstockd in hostile hands sends to penstock-broker: a message is
// refused, or means the same after it is encoded again; and no request of it
// gets out of Slurm's jobs and Penstock's groups.
#include <string>

#include "broker/message.h"
#include "broker/rules.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

namespace {

bool leads_out(const std::string& path) {
  return ("/" + path + "/").find("/../") != std::string::npos;
}

void check_rules(const BrokerRules& rules, const BrokerRequest& request,
                 const std::string& ours, const ProcCgroups& service) {
  const std::string& path = request.path;
  for (const bool may : {rules.may_make(path).ok(), rules.may_remove(path).ok(),
                         rules.may_write(path, request.data).ok(),
                         rules.may_mark(path, request.name).ok()}) {
    FUZZ_CHECK(!may || (!leads_out(path) && path.find(ours) != path.npos));
  }
  FUZZ_CHECK(!rules.may_move(service, path, [](auto&) { return true; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto request = decode_request(bytes);
  if (!request) return 0;
  const auto again = encode(*request);
  const auto same = decode_request(again);
  FUZZ_CHECK(same && encode(*same) == again);
  static const BrokerRules v1("penstock",
                              {{{"cpu", "cpu"}, {"cpuset", "cpuset"}}});
  static const BrokerRules v2("penstock", {});
  check_rules(v1, *request, "/penstock", {{"cpuset", "/"}, {"cpu", "/"}});
  check_rules(v2, *request, "slurmstepd.scope",
              {{"", "/system.slice/ssh.service"}});
  return 0;
}
