#include "node_agent/nvml.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>

namespace penstock {
namespace {

// What is used of NVML's ABI, as its nvml.h declares it for these versions of
// the calls. Neither that header nor the library is needed to build.
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

struct Nvml {
  NvmlReturn (*init)() = nullptr;
  NvmlReturn (*count)(unsigned int* count) = nullptr;
  NvmlReturn (*handle)(unsigned int index, NvmlDevice* device) = nullptr;
  NvmlReturn (*pci_info)(NvmlDevice device, NvmlPciInfo* info) = nullptr;
  NvmlReturn (*minor)(NvmlDevice device, unsigned int* number) = nullptr;
  const char* (*error_text)(NvmlReturn code) = nullptr;
};

constexpr char kFailed = '!';  // begins the child's text when there is no list

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
      !resolve(library, "nvmlErrorString", nvml.error_text)) {
    return Error{Code::kUnavailable, 0, last_dl_error()};
  }
  return nvml;
}

Error failed(const Nvml& nvml, const char* call, NvmlReturn code) {
  const char* text = nvml.error_text(code);
  return Error{Code::kUnavailable, 0,
               std::string(call) + ": " + (text != nullptr ? text : "?")};
}

// In the child. There is no nvmlShutdown: the process ends.
Result<std::vector<Gpu>> ask(const std::string& library) {
  Result<Nvml> nvml = load(library);
  if (!nvml) return std::move(nvml).error();
  if (const NvmlReturn code = nvml->init(); code != 0) {
    return failed(*nvml, "nvmlInit_v2", code);
  }
  unsigned int count = 0;
  if (const NvmlReturn code = nvml->count(&count); code != 0) {
    return failed(*nvml, "nvmlDeviceGetCount_v2", code);
  }
  std::vector<Gpu> gpus;
  for (unsigned int i = 0; i < count && i < unsigned{kMaxGpus}; ++i) {
    NvmlDevice device = nullptr;
    NvmlPciInfo info{};
    // A GPU that has fallen off the bus keeps its number, and has no place.
    if (nvml->handle(i, &device) != 0) continue;
    if (nvml->pci_info(device, &info) != 0) continue;
    Gpu gpu{int(i), -1, {info.domain, info.bus, info.device, 0}};
    unsigned int minor = 0;
    if (nvml->minor(device, &minor) == 0) gpu.device_file = int(minor);
    gpus.push_back(gpu);
  }
  return gpus;
}

void write_answer(const std::string& library, int out) {
  const Result<std::vector<Gpu>> gpus = ask(library);
  const std::string text =
      gpus ? format_gpus(*gpus) : kFailed + gpus.error().message;
  // It fits the pipe. A short write is seen by the list's missing end.
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

}  // namespace penstock
