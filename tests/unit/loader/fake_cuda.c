/* The part of libcuda.so.1 that loader/pipeline/pinned_memory.cpp uses, for
 * machines without it. Tests set and read the fake_cuda_* variables. */
#include <stddef.h>

void* fake_cuda_context;  /* current in every thread; null: none */
int fake_cuda_refuses;    /* result of the next call */
int fake_cuda_registered; /* registered blocks */
size_t fake_cuda_bytes;   /* of the last one */
unsigned fake_cuda_flags;
static void* pushed;

int cuCtxGetCurrent(void** context) {
  *context = fake_cuda_context;
  return 0;
}

int cuCtxPushCurrent_v2(void* context) {
  if (context == NULL) return 1;
  pushed = context;
  return 0;
}

int cuCtxPopCurrent_v2(void** context) {
  *context = pushed;
  pushed = NULL;
  return 0;
}

int cuMemHostRegister_v2(void* begin, size_t bytes, unsigned flags) {
  if (fake_cuda_refuses) return fake_cuda_refuses;
  if ((size_t)begin % 4096 != 0) return 1;
  ++fake_cuda_registered;
  fake_cuda_bytes = bytes;
  fake_cuda_flags = flags;
  return 0;
}

int cuMemHostUnregister(void* begin) {
  if (fake_cuda_refuses) return fake_cuda_refuses;
  if (begin == NULL || pushed == NULL) return 1;
  --fake_cuda_registered;
  return 0;
}
