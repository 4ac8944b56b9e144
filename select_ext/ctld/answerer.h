// Answers users' queries in a thread of its own, so that agents' messages wait
// neither for users nor for the history's disk.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "common/result.h"
#include "link/link.h"
#include "select_ext/ctld/answers.h"
#include "select_ext/ctld/user_queue.h"
#include "wire/query.h"

namespace penstock {

class Answerer {
 public:
  struct Question {
    Arrived arrived;
    ControllerQuery query;
    std::shared_ptr<const ClusterView> view;  // of about the time it came
  };
  // Called in the thread; may wait.
  using Build = std::function<Result<nlohmann::json>(const Question&)>;
  // Sends an answer; called from any thread.
  using Reply =
      std::function<void(const Arrived&, const Result<nlohmann::json>&)>;

  // Errors: kUnavailable  no thread available
  static Result<std::unique_ptr<Answerer>> start(Build build, Reply reply);
  // Waits for the answer that is being built.
  ~Answerer();
  Answerer(const Answerer&) = delete;
  Answerer& operator=(const Answerer&) = delete;

  // Never waits. A question that finds too many waiting, or waits too long, is
  // refused (user_queue.h).
  void ask(Question question);

 private:
  Answerer(Build build, Reply reply)
      : build_(std::move(build)), reply_(std::move(reply)) {}
  void serve();
  void answer(UserQueue<Question>::Next next);

  const Build build_;
  const Reply reply_;
  std::mutex mutex_;  // guards the following three
  std::condition_variable changed_;
  UserQueue<Question> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace penstock
