#include "exchange/cuda/kernels.cu"
