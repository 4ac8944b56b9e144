// Policies that do not use the allocator.
#include <algorithm>

#include "tools/simulate/policy.h"

namespace penstock::simulate {
namespace {

class Even : public RatePolicy {
 public:
  explicit Even(const ClusterSize& size) : size_(size) {}

  Status set_rates(std::vector<Running>& running) override {
    std::vector<int> jobs(size_.nodes, 0);
    for (const Running& it : running) {
      for (const Share& share : it.shares) ++jobs[share.node];
    }
    for (Running& it : running) {
      it.rate = it.job->ceiling;
      for (const Share& share : it.shares) {
        const double cores =
            size_.cores_per_node / jobs[share.node] / share.gpus;
        it.rate = std::min(it.rate, measured_rate(*it.job, cores));
      }
    }
    return Done{};
  }

 private:
  ClusterSize size_;
};

class Proportional : public RatePolicy {
 public:
  explicit Proportional(const ClusterSize& size) : size_(size) {}

  Status set_rates(std::vector<Running>& running) override {
    for (Running& it : running) {
      it.rate = measured_rate(*it.job, size_.cores_per_gpu());
    }
    return Done{};
  }

 private:
  ClusterSize size_;
};

class Ceiling : public RatePolicy {
 public:
  Status set_rates(std::vector<Running>& running) override {
    for (Running& it : running) it.rate = it.job->ceiling;
    return Done{};
  }
};

}  // namespace

std::unique_ptr<RatePolicy> make_even(const ClusterSize& size) {
  return std::make_unique<Even>(size);
}

std::unique_ptr<RatePolicy> make_proportional(const ClusterSize& size) {
  return std::make_unique<Proportional>(size);
}

std::unique_ptr<RatePolicy> make_ceiling() {
  return std::make_unique<Ceiling>();
}

}  // namespace penstock::simulate
