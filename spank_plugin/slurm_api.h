// <slurm/spank.h> for C++. The header declares the callbacks outside of its own
// extern "C" block; without this one they would get C++ linkage.
#pragma once

extern "C" {
#include <slurm/spank.h>
}
