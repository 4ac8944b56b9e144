// A simulation's utilisation over time as an SVG picture. Pure.
#pragma once

#include <string>

#include "tools/simulate/simulation.h"

namespace penstock::simulate {

// GPUs held, and held GPUs that compute, in percent over hours.
std::string utilisation_svg(const Outcome& outcome, const std::string& title);

}  // namespace penstock::simulate
