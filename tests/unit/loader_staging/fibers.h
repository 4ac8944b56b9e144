// Threads that run one at a time, scheduled by the test: the same choices give
// the same run.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace penstock::test {

class Fiber {
 public:
  explicit Fiber(std::function<void()> body) : body_(std::move(body)) {
    ::getcontext(&own_);
    own_.uc_stack.ss_sp = stack_.data();
    own_.uc_stack.ss_size = stack_.size();
    own_.uc_link = &resumer_;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    ::makecontext(&own_, reinterpret_cast<void (*)()>(&Fiber::run), 2,
                  static_cast<unsigned>(self >> 32),
                  static_cast<unsigned>(self));
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the fiber until its next pause() or its end.
  void resume() {
    Fiber* const before = std::exchange(running(), this);
    ::swapcontext(&resumer_, &own_);
    running() = before;
  }
  // Pauses the running fiber; without effect outside a fiber.
  static void pause() {
    if (Fiber* const self = running())
      ::swapcontext(&self->own_, &self->resumer_);
  }
  static Fiber*& running() {
    static Fiber* fiber = nullptr;
    return fiber;
  }
  bool has_ended() const { return has_ended_; }

 private:
  static void run(unsigned high, unsigned low) {
    auto* const self =
        reinterpret_cast<Fiber*>(std::uintptr_t{high} << 32 | low);
    self->body_();
    self->has_ended_ = true;
  }

  std::function<void()> body_;
  std::vector<char> stack_ = std::vector<char>(size_t{256} << 10);
  ucontext_t own_{};
  ucontext_t resumer_{};
  bool has_ended_ = false;
};

}  // namespace penstock::test
