#include "tests/model/node_world.h"

int main(int argc, char** argv) {
  return penstock::model::run_trials(argc, argv,
                                     [](penstock::model::Trial& trial) {
                                       penstock::model::NodeWorld(trial).run();
                                     });
}
