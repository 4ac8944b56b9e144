// The simulated cluster: honest and hostile nodes, controllers that fail over,
// and a network that delays, reorders, repeats and loses messages. The real
// Terms, Controller, Guard, ClusterReport, ClusterGrant and planner.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "select_ext/ctld/controller.h"
#include "tests/model/cluster_agent.h"
#include "tests/model/trial.h"
#include "wire/envelope.h"

namespace penstock::model {

class ClusterWorld {
 public:
  explicit ClusterWorld(Trial& trial);
  void run();

 private:
  // A penstockctld and what outlives it.
  struct Place {
    std::optional<Controller> controller;  // nullopt: it is down
    Guard guard;
    uint64_t saved_term = 0;
    double ahead_s = 0;                     // its clock is ahead of the world's
    double unix_ahead_s = 0;                // the same of its time of day
    std::map<std::string, double> heard_s;  // nodes that told their term
  };
  // A machine that sends as a node.
  struct Station {
    std::string name;
    std::unique_ptr<ClusterAgent> agent;  // null: hostile
    double ahead_s = 0;
    uint64_t session = 1;
    std::vector<uint64_t> sequence;  // by place
    std::vector<bool> is_linked;     // by place
    uint64_t overflows = 0;          // messages that find its queue full
  };
  struct Packet {
    size_t station = 0;
    size_t place = 0;
    Envelope envelope;  // of an agent's message, without its body
    std::variant<AgentMessage, ControllerMessage> message;
  };

  double now_s(const Station& station) const {
    return now_s_ + station.ahead_s;
  }
  double now_s(const Place& place) const { return now_s_ + place.ahead_s; }

  void step();
  void disturb();
  void settle();
  void pass(double seconds);

  // Actors
  void restart_agent(Station& station);
  void flip_link(size_t station, size_t place);
  void start(Place& place);
  void fail_over(Place& place);
  void lie(size_t station);

  // Network
  void send(size_t station, const AgentMessage& message);
  void send_all(size_t station, const std::vector<AgentMessage>& messages);
  void enqueue(Packet packet);
  void deliver(const Packet& packet);
  void deliver_some();
  void replay();

  // Controllers
  void tick(size_t place);
  void mind_term(Place& place, size_t index, uint64_t before);
  void check_grant(const Controller& controller, const NodeGrant& grant,
                   const std::string& node);
  std::string why_not_settled() const;
  void check_sizes();
  bool most_are_honest(const Place& place) const;

  Trial& trial_;
  double now_s_ = 1000;
  bool is_quiet_ = false;  // nothing fails but the hostile nodes
  std::vector<Place> places_;
  std::vector<Station> stations_;
  std::vector<Packet> network_;
  std::vector<Packet> recorded_;  // for replays
  std::map<uint64_t, size_t> place_of_term_;
  uint64_t highest_term_ = 0;  // of any controller
};

}  // namespace penstock::model
