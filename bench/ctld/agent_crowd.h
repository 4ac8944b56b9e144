// Simulates the agents of many nodes in one thread, each with its own socket:
// jobs start and end on the nodes, and the controller sends grants.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/unique_fd.h"
#include "link/credential.h"
#include "link/zmq_socket.h"
#include "wire/envelope.h"
#include "wire/messages.h"

namespace penstock {

// The crowd's measurements, in milliseconds.
struct CrowdFigures {
  std::vector<double> answer_ms;   // from a job's event to its grant
  std::vector<double> receipt_ms;  // from a decision to its grant's receipt
  uint64_t jobs_started = 0;
  uint64_t events = 0;   // messages about jobs
  uint64_t resyncs = 0;  // requests for a hello, after a gap
  uint64_t lost = 0;     // events without a grant after finish()
  double storm_s = 0;
};

class AgentCrowd {
 public:
  struct Settings {
    int agents = 2000;
    double jobs_per_s = 200;
    double timeout_s = 30;  // ControllerTimeout, for heartbeats
    std::string endpoint;
    std::string munge_socket;
    std::vector<std::string> pools;
    uint64_t seed = 1;
  };

  // Errors: kUnavailable  a socket could not be created
  static Result<AgentCrowd> create(Settings settings);

  // Sends a hello from every node, with four jobs each, and waits for every
  // node's first grant.
  // Errors: kUnavailable  not within limit_s
  [[nodiscard]] Status start(double limit_s);

  // Starts and ends jobs for this time.
  [[nodiscard]] Status storm(double seconds);

  // Waits until every event is answered and every node's last grant names its
  // jobs. Counts the exceptions at the time limit.
  [[nodiscard]] Status finish(double limit_s);

  const CrowdFigures& figures() const { return figures_; }

 private:
  struct Agent {
    ZmqSocket socket;
    Sender sender;
    std::map<uint64_t, JobPart> parts;
    std::map<uint64_t, double> unanswered;  // time sent, by sequence
    uint64_t term = 0;
    uint64_t version = 0;
    std::set<uint64_t> granted;  // job ids in the last grant
    bool needs_hello = true;
  };

  explicit AgentCrowd(Settings settings) : settings_(std::move(settings)) {}

  [[nodiscard]] Status open();
  bool say(Agent& agent, const AgentMessage& message, bool is_event);
  void say_hello(Agent& agent);
  JobPart random_part(uint64_t id);
  void start_job();
  void end_job();
  void add_part(size_t node, const JobPart& part);
  void beat();
  [[nodiscard]] Status wait_and_read(double until_s);
  void read_all(Agent& agent);
  void take(Agent& agent, const std::string& text);
  template <class Done>
  [[nodiscard]] Status run_until(double limit_s, const char* what, Done done);

  Settings settings_;
  ZmqContext context_;
  UniqueFd epoll_;
  std::unique_ptr<Credentials> credentials_;
  Guard guard_;
  std::mt19937_64 random_;
  std::vector<Agent> agents_;
  std::map<uint64_t, std::vector<size_t>> nodes_of_job_;
  uint64_t next_job_ = 1;
  size_t next_beat_ = 0;
  double next_beat_s_ = 0;
  CrowdFigures figures_;
};

}  // namespace penstock
