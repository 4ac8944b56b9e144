/* Compiled as C: the public header must be plain C. */
#include "penstock/loader/loader.h"

uint64_t loader_header_is_c(void) {
  struct penstock_loader_options options;
  penstock_loader_defaults(&options);
  return options.total_samples;
}
