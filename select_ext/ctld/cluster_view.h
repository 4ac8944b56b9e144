// The controller's state in the form that answers.h needs. Pure.
#pragma once

#include <string>

#include "select_ext/ctld/answers.h"
#include "select_ext/ctld/controller.h"

namespace penstock {

// now_s: the clock of the calls to the controller.
ClusterView view_of(const Controller& controller, const std::string& address,
                    Policy policy, double now_s, double now_unix_s);

}  // namespace penstock
