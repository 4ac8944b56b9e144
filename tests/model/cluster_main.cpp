#include "tests/model/cluster_world.h"

int main(int argc, char** argv) {
  return penstock::model::run_trials(
      argc, argv, [](penstock::model::Trial& trial) {
        penstock::model::ClusterWorld(trial).run();
      });
}
