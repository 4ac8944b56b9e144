#include "loader/pipeline/elastic_pool.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>

#include "tests/unit/catch.h"

using penstock::ElasticPool;

namespace {

template <class Done>
bool eventually(Done done) {
  for (int i = 0; i < 500 && !done(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return done();
}

// Which ids are in their body now.
class Present {
 public:
  ElasticPool::Body body() {
    return [this](size_t id, const ElasticPool::Wanted& wanted) {
      change(id, true);
      while (wanted()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      change(id, false);
    };
  }
  std::set<size_t> ids() {
    const std::lock_guard lock(mutex_);
    return ids_;
  }

 private:
  void change(size_t id, bool present) {
    const std::lock_guard lock(mutex_);
    if (present) {
      REQUIRE(ids_.insert(id).second);  // never two threads with one id
    } else {
      ids_.erase(id);
    }
  }
  std::mutex mutex_;
  std::set<size_t> ids_;
};

}  // namespace

TEST_CASE("a pool grows, and shrinks by the highest ids first") {
  Present present;
  ElasticPool pool(4, present.body());
  CHECK(pool.running() == 0);
  for (size_t threads : {2, 4, 1, 3, 0, 4}) {
    pool.resize(threads);
    std::set<size_t> wanted;
    for (size_t id = 0; id < threads; ++id) wanted.insert(id);
    CHECK(eventually([&] {
      pool.resize(threads);  // as the loader does 20 times a second
      return present.ids() == wanted && pool.running() == threads;
    }));
  }
}

TEST_CASE("a pool does not grow beyond its bound") {
  Present present;
  ElasticPool pool(2, present.body());
  pool.resize(100);
  CHECK(eventually([&] { return present.ids() == std::set<size_t>{0, 1}; }));
  CHECK(pool.running() == 2);
}

TEST_CASE("quick changes of size neither lose nor duplicate threads") {
  Present present;
  ElasticPool pool(3, present.body());
  for (int i = 0; i < 300; ++i) pool.resize(i % 2 == 0 ? 3 : 1);
  CHECK(eventually([&] {
    pool.resize(3);
    return present.ids().size() == 3 && pool.running() == 3;
  }));
}

TEST_CASE("the end of a pool waits for its threads") {
  std::atomic<int> finished{0};
  {
    ElasticPool pool(3, [&](size_t, const ElasticPool::Wanted& wanted) {
      while (wanted()) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ++finished;
    });
    pool.resize(3);
    CHECK(eventually([&] { return pool.running() == 3; }));
  }
  CHECK(finished == 3);
}
