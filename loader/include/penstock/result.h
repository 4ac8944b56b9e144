// In the source tree; common/result.h is installed in its place.
#pragma once

#include "common/result.h"
