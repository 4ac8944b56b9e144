// A broker's end for the simulated node: it listens itself, and does nothing
// that needs another process or the real kernel.
#pragma once

#include <unistd.h>

#include <string>
#include <utility>

#include "broker/client.h"
#include "common/listening_socket.h"

namespace penstock::model {

class LocalBroker final : public BrokerClient {
 public:
  explicit LocalBroker(std::string socket_path)
      : BrokerClient(UniqueFd()), socket_path_(std::move(socket_path)) {}

  Result<UniqueFd> open_proc_events() const override { return none(); }
  Result<UniqueFd> listen() const override { return listen_at(socket_path_); }
  void stop_listening() const override { ::unlink(socket_path_.c_str()); }
  Status read_user_file(const std::string&, pid_t, uid_t, int) const override {
    return none();
  }
  Status look_at_reads(const std::vector<pid_t>&, uid_t, int) const override {
    return none();
  }
  Status write_metrics(const std::string&, const std::string&,
                       int) const override {
    return none();
  }
  Status remove_metrics(const std::string&, int) const override {
    return none();
  }
  Status give_directories() const override { return Done{}; }
  uint64_t sweep_caches(uint64_t, uint64_t) const override { return 0; }

 private:
  static Error none() { return Error{Code::kUnavailable, 0, "not simulated"}; }

  std::string socket_path_;
};

}  // namespace penstock::model
