/* NOT NVIDIA's library: a fake with NVML's names, for nvml_test. It reports
 * four GPUs, one of them unreachable. The environment variable FAKE_NVML
 * selects a fault: "no_driver", "hang", "crash", "crash_late", "many"; "mig"
 * divides one; "idle": no kernel runs on any.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pci_info {
  char bus_id_legacy[16];
  unsigned int domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

enum { kGpus = 4, kUnreachable = 2, kDriverNotLoaded = 9, kGpuIsLost = 15,
       kNotSupported = 3, kInsufficientSize = 7 };

static const struct {
  unsigned int domain, bus, minor;
} kFakes[kGpus] = {{0, 0x17, 1}, {0, 0x97, 0}, {0, 0xb7, 2}, {1, 0x97, 3}};

static int goes_wrong(const char* how) {
  const char* named = getenv("FAKE_NVML");
  return named != NULL && strcmp(named, how) == 0;
}

static void crash(void) {
  raise(SIGSEGV);
  abort();
}

int nvmlInit_v2(void) {
  if (goes_wrong("no_driver")) return kDriverNotLoaded;
  while (goes_wrong("hang")) pause();
  if (goes_wrong("crash")) crash();
  return 0;
}

int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = goes_wrong("many") ? 4000000000u : kGpus;
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** device) {
  if (index == kUnreachable) return kGpuIsLost;
  *device = (void*)(kFakes + index % kGpus);
  return 0;
}

int nvmlDeviceGetPciInfo_v3(void* device, struct pci_info* info) {
  const long index = (const char*)device - (const char*)kFakes;
  const unsigned int fake = (unsigned int)(index / (long)sizeof kFakes[0]);
  if (goes_wrong("crash_late") && fake == 1) crash();
  memset(info, 0, sizeof *info);
  info->domain = kFakes[fake].domain;
  info->bus = kFakes[fake].bus;
  snprintf(info->bus_id, sizeof info->bus_id, "%08X:%02X:00.0", info->domain,
           info->bus);
  return 0;
}

int nvmlDeviceGetMinorNumber(void* device, unsigned int* minor) {
  const long index = (const char*)device - (const char*)kFakes;
  *minor = kFakes[index / (long)sizeof kFakes[0]].minor;
  return 0;
}

int nvmlDeviceGetMigMode(void* device, unsigned int* now, unsigned int* later) {
  if (!goes_wrong("mig")) return kNotSupported;
  *now = *later = device == (void*)(kFakes + 1);
  return 0;
}

struct utilization {
  unsigned int gpu, memory;
};

/* The first GPU's use grows with each call; the second reports none. */
int nvmlDeviceGetUtilizationRates(void* device, struct utilization* use) {
  static unsigned int calls = 0;
  const long index = (const char*)device - (const char*)kFakes;
  const unsigned int fake = (unsigned int)(index / (long)sizeof kFakes[0]);
  if (goes_wrong("crash_late") && ++calls > 2) crash();
  if (fake == 1) return kNotSupported;
  use->gpu = goes_wrong("idle") ? 0 : fake == 0 ? 10 * ++calls : 75;
  use->memory = 0;
  return 0;
}

struct memory {
  unsigned long long total, free, used;
};

/* Of the first GPU alone. */
int nvmlDeviceGetMemoryInfo(void* device, struct memory* memory) {
  if (device != (const void*)kFakes) return kNotSupported;
  memory->total = 80ull << 30;
  memory->used = 30ull << 30;
  memory->free = memory->total - memory->used;
  return 0;
}

/* Two on the first GPU, none on the second; unknown of the others. */
int nvmlDeviceGetComputeRunningProcesses(void* device, unsigned int* count,
                                         void* infos) {
  const long index = (const char*)device - (const char*)kFakes;
  const unsigned int fake = (unsigned int)(index / (long)sizeof kFakes[0]);
  if (fake > 1 || *count != 0 || infos != NULL) return kNotSupported;
  *count = fake == 0 ? 2 : 0;
  return fake == 0 ? kInsufficientSize : 0;
}

const char* nvmlErrorString(int code) {
  return code == kDriverNotLoaded ? "Driver Not Loaded" : "Unknown Error";
}
