/* Preloaded into a munged: its clock is PENSTOCK_SHIFT_S seconds ahead. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

time_t time(time_t* out) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  const char* shift = getenv("PENSTOCK_SHIFT_S");
  time_t shifted = now.tv_sec + (shift ? atol(shift) : 0);
  if (out) *out = shifted;
  return shifted;
}
