// Result<T> for public headers, which include only penstock/...; an
// installation puts common/result.h in this place.
#pragma once

#include "common/result.h"
