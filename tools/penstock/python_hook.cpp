#include "tools/penstock/python_hook.h"

#include <unistd.h>

#include <cstdlib>

namespace penstock {

Result<std::string> python_path_with_hook() {
  for (const char* folder :
       {PENSTOCK_BUILD "/python/hook", PENSTOCK_HOOK_DIR}) {
    std::string path = folder;
    if (::access((path + "/sitecustomize.py").c_str(), R_OK) != 0) continue;
    const char* before = std::getenv(kPythonPath);
    if (before && *before) path += std::string(":") + before;
    return path;
  }
  return Error{Code::kNotFound, 0,
               PENSTOCK_HOOK_DIR
               "/sitecustomize.py cannot be read, so loaders are not measured: "
               "install Penstock's client again"};
}

}  // namespace penstock
