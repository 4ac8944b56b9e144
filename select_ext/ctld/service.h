// Connects the controller to its link and its state directory: passes messages
// to it and sends its replies. One thread, in the event loop.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "common/event_loop.h"
#include "common/result.h"
#include "link/link.h"
#include "select_ext/ctld/controller.h"
#include "wire/query.h"

namespace penstock {

class ControllerService {
 public:
  // Called with each event, in order; from the event loop.
  using Listener = std::function<void(const ClusterEvent&)>;

  // state_dir_fd  must stay open for the lifetime of the service
  ControllerService(EventLoop& loop, Controller controller,
                    std::unique_ptr<Link> link, int state_dir_fd);

  // Errors: kIo  the event loop takes no more
  [[nodiscard]] Status start();

  void add_listener(Listener listener) {
    listeners_.push_back(std::move(listener));
  }
  // Called with each command's question, after the agents' messages; from the
  // event loop. The answer goes to answer().
  // REQUIRES: set before the loop runs.
  using Asked = std::function<void(Arrived question)>;
  void set_asked(Asked asked) { asked_ = std::move(asked); }
  // Thread-safe.
  void answer(const Arrived& question, const Result<nlohmann::json>& document);

  // Queues a message to an agent. If the queue is full it is lost.
  void send(const std::string& node, const ControllerMessage& message) {
    (void)link_->send(node, body_of(message));
  }

  Controller& controller() { return controller_; }

 private:
  void on_ready();
  void on_tick();
  void take(Arrived& arrived, double now_s);
  void flush();
  bool keep_term();

  EventLoop& loop_;
  Controller controller_;
  std::unique_ptr<Link> link_;
  int state_dir_fd_;
  uint64_t kept_term_ = 0;
  std::vector<Listener> listeners_;
  Asked asked_;
};

}  // namespace penstock
