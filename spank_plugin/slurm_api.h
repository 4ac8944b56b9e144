// <slurm/spank.h> for C++: it declares the callbacks outside of its own
// extern "C", so that a plain include gives them C++ linkage.
#pragma once

extern "C" {
#include <slurm/spank.h>
}
