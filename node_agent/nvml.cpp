#include "node_agent/nvml.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>

namespace penstock {
namespace {

// The used part of NVML's ABI, copied from its nvml.h for these versions of the
// calls. Building needs neither that header nor the library.
using NvmlReturn = int;
using NvmlDevice = void*;
struct NvmlPciInfo {
  char bus_id_legacy[16];
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int pci_device_id;
  unsigned int pci_subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(NvmlPciInfo) == 68);
struct NvmlUtilization {  // percent
  unsigned int gpu;
  unsigned int memory;
};

struct NvmlMemory {  // bytes; version 1 of the call: reserved ones are used
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct Nvml {
  NvmlReturn (*init)() = nullptr;
  NvmlReturn (*count)(unsigned int* count) = nullptr;
  NvmlReturn (*handle)(unsigned int index, NvmlDevice* device) = nullptr;
  NvmlReturn (*pci_info)(NvmlDevice device, NvmlPciInfo* info) = nullptr;
  NvmlReturn (*minor)(NvmlDevice device, unsigned int* number) = nullptr;
  NvmlReturn (*utilization)(NvmlDevice device, NvmlUtilization* use) = nullptr;
  NvmlReturn (*memory)(NvmlDevice device, NvmlMemory* memory) = nullptr;
  // Null: a driver that does not list processes. With *count 0 it only counts.
  NvmlReturn (*processes)(NvmlDevice device, unsigned int* count,
                          void* infos) = nullptr;
  // Null: a driver that does not divide GPUs.
  NvmlReturn (*mig_mode)(NvmlDevice device, unsigned int* now,
                         unsigned int* after_reset) = nullptr;
  const char* (*error_text)(NvmlReturn code) = nullptr;
};

constexpr char kFailed = '!';  // prefix of the child's error message

std::string last_dl_error() {
  const char* text = ::dlerror();
  return text != nullptr ? text : "dlopen failed";
}

template <class Function>
bool resolve(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

Result<Nvml> load(const std::string& name) {
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Error{Code::kUnavailable, 0, last_dl_error()};
  }
  Nvml nvml;
  if (!resolve(library, "nvmlInit_v2", nvml.init) ||
      !resolve(library, "nvmlDeviceGetCount_v2", nvml.count) ||
      !resolve(library, "nvmlDeviceGetHandleByIndex_v2", nvml.handle) ||
      !resolve(library, "nvmlDeviceGetPciInfo_v3", nvml.pci_info) ||
      !resolve(library, "nvmlDeviceGetMinorNumber", nvml.minor) ||
      !resolve(library, "nvmlDeviceGetUtilizationRates", nvml.utilization) ||
      !resolve(library, "nvmlDeviceGetMemoryInfo", nvml.memory) ||
      !resolve(library, "nvmlErrorString", nvml.error_text)) {
    return Error{Code::kUnavailable, 0, last_dl_error()};
  }
  resolve(library, "nvmlDeviceGetMigMode", nvml.mig_mode);
  resolve(library, "nvmlDeviceGetComputeRunningProcesses_v3", nvml.processes) ||
      resolve(library, "nvmlDeviceGetComputeRunningProcesses_v2",
              nvml.processes) ||
      resolve(library, "nvmlDeviceGetComputeRunningProcesses", nvml.processes);
  return nvml;
}

Error failed(const Nvml& nvml, const char* call, NvmlReturn code) {
  const char* text = nvml.error_text(code);
  return Error{Code::kUnavailable, 0,
               std::string(call) + ": " + (text != nullptr ? text : "?")};
}

struct Driver {
  Nvml nvml;
  unsigned int gpus = 0;
};

// Runs in the child. Never calls nvmlShutdown, as the process ends.
Result<Driver> connect(const std::string& library) {
  Result<Nvml> nvml = load(library);
  if (!nvml) return std::move(nvml).error();
  if (const NvmlReturn code = nvml->init(); code != 0) {
    return failed(*nvml, "nvmlInit_v2", code);
  }
  Driver driver{*nvml};
  if (const NvmlReturn code = nvml->count(&driver.gpus); code != 0) {
    return failed(*nvml, "nvmlDeviceGetCount_v2", code);
  }
  driver.gpus = std::min(driver.gpus, unsigned{kMaxGpus});
  return driver;
}

bool is_divided(const Nvml& nvml, NvmlDevice device) {
  unsigned int now = 0, after_reset = 0;
  return nvml.mig_mode != nullptr &&
         nvml.mig_mode(device, &now, &after_reset) == 0 && now != 0;
}

// With MIG, Slurm's numbers count instances.
Result<std::vector<Gpu>> ask(const std::string& library) {
  Result<Driver> driver = connect(library);
  if (!driver) return std::move(driver).error();
  const Nvml* nvml = &driver->nvml;
  std::vector<Gpu> gpus;
  for (unsigned int i = 0; i < driver->gpus; ++i) {
    NvmlDevice device = nullptr;
    NvmlPciInfo info{};
    // A GPU that has fallen off the bus keeps its index, but has no address.
    if (nvml->handle(i, &device) != 0) continue;
    if (is_divided(*nvml, device)) {
      return Error{Code::kUnavailable, 0,
                   "GPU " + std::to_string(i) +
                       " has MIG enabled, so Slurm's numbers are not NVML's"};
    }
    if (nvml->pci_info(device, &info) != 0) continue;
    Gpu gpu{int(i), -1, {info.domain, info.bus, info.device, 0}};
    unsigned int minor = 0;
    if (nvml->minor(device, &minor) == 0) gpu.device_file = int(minor);
    gpus.push_back(gpu);
  }
  return gpus;
}

// Some GPUs and MIG instances do not report all of it.
GpuState state_of(const Nvml& nvml, NvmlDevice device) {
  constexpr NvmlReturn kInsufficientSize = 7;
  GpuState state;
  NvmlUtilization now{};
  if (nvml.utilization(device, &now) == 0) {
    state.busy = std::min(1.0, now.gpu / 100.0);
  }
  NvmlMemory memory{};
  if (nvml.memory(device, &memory) == 0) {
    state.memory = {memory.used, memory.total};
  }
  unsigned int count = 0;
  const NvmlReturn counted =
      nvml.processes == nullptr ? -1 : nvml.processes(device, &count, nullptr);
  if (counted == 0 || counted == kInsufficientSize) state.processes = count;
  return state;
}

GpuUse use_now(const Driver& driver) {
  GpuUse use;
  for (unsigned int i = 0; i < driver.gpus; ++i) {
    NvmlDevice device = nullptr;
    if (driver.nvml.handle(i, &device) != 0) continue;
    use[int(i)] = state_of(driver.nvml, device);
  }
  return use;
}

// Runs in the child until the parent closes the pipe.
void write_use(const std::string& library, uint64_t period_ms, int out) {
  const Result<Driver> driver = connect(library);
  const timespec period{time_t(period_ms / 1000),
                        long(period_ms % 1000) * 1'000'000};
  while (true) {
    // The pipe blocks: all is written, or the parent is gone.
    const std::string text = driver ? format_gpu_use(use_now(*driver))
                                    : kFailed + driver.error().message;
    if (::write(out, text.data(), text.size()) < 0 || !driver) return;
    ::nanosleep(&period, nullptr);
  }
}

void write_answer(const std::string& library, int out) {
  const Result<std::vector<Gpu>> gpus = ask(library);
  const std::string text =
      gpus ? format_gpus(*gpus) : kFailed + gpus.error().message;
  // The text fits the pipe. After a short write, the list has no end.
  (void)!::write(out, text.data(), text.size());
}

Result<std::vector<Gpu>> interpret(const Result<std::string>& text,
                                   const std::string& library) {
  if (!text) return text.error();
  if (!text->empty() && text->front() == kFailed) {
    return Error{Code::kUnavailable, 0, printable(text->substr(1), 200)};
  }
  Result<std::vector<Gpu>> gpus = parse_gpus(*text);
  if (!gpus) {
    return std::move(gpus).error().wrap(library + " crashed or is broken");
  }
  return gpus;
}

}  // namespace

void find_gpus(BoundedChildren& children, const std::string& library,
               uint64_t deadline_ms,
               std::function<void(Result<std::vector<Gpu>>)> callback) {
  ChildWork work;
  work.what = library;
  work.body = [&library](int out) { write_answer(library, out); };
  work.deadline_ms = deadline_ms;
  work.max_bytes = size_t{64} * 1024;
  children.start(work, [library, callback = std::move(callback)](
                           const Result<std::string>& text) {
    callback(interpret(text, library));
  });
}

void watch_gpus(BoundedChildren& children, const std::string& library,
                uint64_t period_ms, std::function<bool(const GpuUse&)> use,
                std::function<void(Status)> ended) {
  struct Seen {
    std::string text;
    bool is_enough = false;
    Status failed = Done{};
  };
  auto seen = std::make_shared<Seen>();
  ChildWork work;
  work.what = library;
  work.body = [&library, period_ms](int out) {
    write_use(library, period_ms, out);
  };
  work.deadline_ms = kNvmlDeadline_ms + period_ms;
  work.stream = [seen, use = std::move(use)](std::string_view text) {
    seen->text += text;
    if (seen->text.front() == kFailed) {
      seen->failed =
          Error{Code::kUnavailable, 0, printable(seen->text.substr(1), 200)};
      return false;
    }
    Result<std::optional<GpuUse>> now = take_gpu_use(seen->text);
    if (now) {
      seen->is_enough = *now && !use(**now);
      return !seen->is_enough;
    }
    seen->failed = std::move(now).error();
    return false;
  };
  children.start(work, [seen, library, ended = std::move(ended)](
                           const Result<std::string>& text) {
    if (!text) return ended(text.error());
    if (!seen->failed || seen->is_enough) return ended(seen->failed);
    ended(invalid(library + " crashed or is broken"));
  });
}

}  // namespace penstock
