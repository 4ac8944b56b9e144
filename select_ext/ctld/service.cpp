#include "select_ext/ctld/service.h"

#include "common/clock.h"
#include "common/log.h"
#include "link/term_file.h"

namespace penstock {
namespace {

constexpr uint64_t kTick_ms = 20;

double now_s() { return double(monotonic_ns()) * 1e-9; }

}  // namespace

ControllerService::ControllerService(EventLoop& loop, Controller controller,
                                     std::unique_ptr<Link> link,
                                     int state_dir_fd)
    : loop_(loop),
      controller_(std::move(controller)),
      link_(std::move(link)),
      state_dir_fd_(state_dir_fd) {}

Status ControllerService::start() {
  Status watched = loop_.watch(link_->ready_fd(), [this] { on_ready(); });
  if (!watched) return watched;
  Result<int> timer = loop_.add_timer(kTick_ms, [this] { on_tick(); });
  if (!timer) return std::move(timer).error();
  return Done{};
}

void ControllerService::on_ready() {
  for (Arrived& arrived : link_->take()) take(arrived, now_s());
  for (const std::string& text : link_->take_complaints()) {
    log_warning("{}", text);
  }
  on_tick();
}

void ControllerService::answer(const Arrived& question,
                               const Result<nlohmann::json>& document) {
  // If the queue is full, the client times out and reports that.
  (void)link_->answer(question,
                      {kAnswerType, answer_body(question.envelope, document)});
}

void ControllerService::take(Arrived& arrived, double at_s) {
  if (arrived.is_question) return asked_(std::move(arrived));
  Envelope& envelope = arrived.envelope;
  Result<AgentMessage> message =
      read_agent_message(envelope.type, envelope.body);
  if (!message) {
    log_warning("node {}: {}", envelope.node, message.error().message);
    return;
  }
  controller_.on_message({envelope.node, envelope.session, envelope.sequence,
                          arrived.missed, *std::move(message)},
                         at_s);
}

void ControllerService::on_tick() {
  controller_.on_tick(now_s(), unix_s());
  if (!keep_term()) return;
  flush();
}

// The term must be on disk before any grant of it is sent.
bool ControllerService::keep_term() {
  if (controller_.term() == kept_term_ || !controller_.is_active()) return true;
  Status kept = save_term(state_dir_fd_, controller_.term());
  if (kept) {
    kept_term_ = controller_.term();
    return true;
  }
  log_error("ControllerStateDir: {}: term {} is given up", kept.error().message,
            controller_.term());
  controller_.step_down(now_s());
  (void)controller_.take_outgoing();
  return false;
}

void ControllerService::flush() {
  for (ToAgent& out : controller_.take_outgoing()) {
    // If the queue is full, the agent's next heartbeat shows that a grant is
    // missing.
    (void)link_->send(out.node, body_of(out.message));
  }
  for (const Remark& remark : controller_.take_remarks()) {
    if (remark.is_warning) {
      log_warning("{}", remark.text);
    } else {
      log_info("{}", remark.text);
    }
  }
  for (const ClusterEvent& event : controller_.take_events()) {
    for (const Listener& listener : listeners_) listener(event);
  }
}

}  // namespace penstock
