// Child processes that a test starts, stops and kills.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <utility>

#include "tests/unit/catch.h"

namespace penstock::test {

// Runs a function in a child process, which the destructor kills.
class Child {
 public:
  // Waits until the child calls done(), after which the child continues.
  using Work = std::function<void(const std::function<void()>& done)>;
  explicit Child(const Work& work) {
    REQUIRE(::pipe(pipe_) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) run(work);
    ::close(pipe_[1]);
  }
  ~Child() {
    if (pid_ > 0) kill();
    ::close(pipe_[0]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  // False: the child ended before.
  [[nodiscard]] bool wait_until_done() const {
    char byte = 0;
    return ::read(pipe_[0], &byte, 1) == 1;
  }
  // Its exit status, or 128 and the signal that ended it.
  int wait() {
    int status = 0;
    REQUIRE(::waitpid(std::exchange(pid_, 0), &status, 0) > 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void stop() const {
    REQUIRE(::kill(pid_, SIGSTOP) == 0);
    wait_until_stopped();
  }
  void wait_until_stopped() const {
    int status = 0;
    REQUIRE(::waitpid(pid_, &status, WUNTRACED) == pid_);
    REQUIRE(WIFSTOPPED(status));
  }
  void go_on() const { REQUIRE(::kill(pid_, SIGCONT) == 0); }
  int kill() {
    ::kill(pid_, SIGKILL);
    return wait();
  }

 private:
  // A failure in the child must not continue with the other tests.
  [[noreturn]] void run(const Work& work) const {
    ::close(pipe_[0]);
    try {
      work([this] { (void)!::write(pipe_[1], "d", 1); });
    } catch (...) {
      ::_exit(99);
    }
    ::_exit(0);
  }

  int pipe_[2] = {-1, -1};
  pid_t pid_ = 0;
};

// Runs a function in a child process; returns the exit status.
inline int in_child(const std::function<void()>& work) {
  return Child([&](const auto&) { work(); }).wait();
}

// A child that does its work, calls done() and waits to be killed.
inline Child::Work and_wait(const std::function<void()>& work) {
  return [work](const std::function<void()>& done) {
    work();
    done();
    for (;;) ::pause();
  };
}

}  // namespace penstock::test
