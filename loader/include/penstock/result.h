// Result<T> as public headers include it: they name nothing outside penstock/,
// so that an installation can put common/result.h itself in this place.
#pragma once

#include "common/result.h"
