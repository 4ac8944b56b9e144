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
  // Answers commands; without one they get kUnavailable.
  using Answerer = std::function<Result<nlohmann::json>(
      const ControllerQuery& query, uid_t asker)>;
  void set_answerer(Answerer answerer) { answerer_ = std::move(answerer); }

  Controller& controller() { return controller_; }

 private:
  void on_ready();
  void on_tick();
  void take(Arrived& arrived, double now_s);
  void answer(const Arrived& question);
  void flush();
  bool keep_term();

  EventLoop& loop_;
  Controller controller_;
  std::unique_ptr<Link> link_;
  int state_dir_fd_;
  uint64_t kept_term_ = 0;
  std::vector<Listener> listeners_;
  Answerer answerer_;
};

}  // namespace penstock
