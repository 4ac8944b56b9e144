#include "select_ext/ctld/answerer.h"

#include <chrono>
#include <future>
#include <map>

#include "tests/unit/catch.h"

using namespace penstock;
using nlohmann::json;

namespace {

// The replies to questions, by their number.
class Replies {
 public:
  Answerer::Reply taker() {
    return [this](const Arrived& question, const Result<json>& answer) {
      const std::lock_guard lock(mutex_);
      texts_[question.route] = answer ? answer->dump() : answer.error().message;
      changed_.notify_all();
    };
  }
  // Waits for it; "" after 20 s.
  std::string of(uint64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20),
                      [&] { return texts_.contains(number); });
    return texts_[number];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, std::string> texts_;
};

Answerer::Question question(uid_t uid, uint64_t number) {
  Answerer::Question it;
  it.arrived.uid = uid;
  it.arrived.route = number;
  return it;
}

}  // namespace

TEST_CASE("a question that takes long makes neither asker nor others wait") {
  Replies replies;
  std::promise<void> disk;
  auto free = disk.get_future().share();
  auto answerer = *Answerer::start(
      [free](const Answerer::Question& asked) -> Result<json> {
        if (asked.arrived.uid == 1000) free.wait();
        return json(asked.arrived.uid);
      },
      replies.taker());
  answerer->ask(question(1000, 1));
  answerer->ask(question(1001, 2));
  disk.set_value();
  CHECK(replies.of(1) == "1000");
  CHECK(replies.of(2) == "1001");
}

TEST_CASE("questions beyond the limit are refused at once with the reason") {
  Replies replies;
  std::promise<void> disk;
  auto free = disk.get_future().share();
  std::promise<void> begun;
  auto answerer = *Answerer::start(
      [&begun, free](const Answerer::Question& asked) -> Result<json> {
        if (asked.arrived.route == 1) begun.set_value();
        free.wait();
        return json(1);
      },
      replies.taker());
  // One is being answered, 8 wait; more are refused while the disk hangs.
  answerer->ask(question(1000, 1));
  begun.get_future().wait();
  for (uint64_t number = 2; number <= 10; ++number) {
    answerer->ask(question(1000, number));
  }
  CHECK(replies.of(10) == "too many queries from user 1000; try again in 1 s");
  disk.set_value();
  CHECK(replies.of(1) == "1");
}

TEST_CASE("an error of a build is the answer") {
  Replies replies;
  auto answerer = *Answerer::start(
      [](const Answerer::Question&) -> Result<json> {
        return invalid("no such field");
      },
      replies.taker());
  answerer->ask(question(1000, 1));
  CHECK(replies.of(1) == "no such field");
}
