/* Compiled as C: the public header must be plain C. */
#include "libpenstock/include/penstock.h"

int penstock_header_is_c(void) { return PENSTOCK_API_VERSION; }
