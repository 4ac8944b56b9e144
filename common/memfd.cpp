#include "common/memfd.h"

#include <sys/mman.h>

#include <cerrno>

namespace penstock {
namespace {

constexpr unsigned kNoExecSeal = 8;  // MFD_NOEXEC_SEAL, which glibc 2.36 lacks

}  // namespace

Result<UniqueFd> create_memfd(const char* name) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  // Where vm.memfd_noexec is 2 the kernel refuses files that could be executed.
  UniqueFd fd(::memfd_create(name, kFlags | kNoExecSeal));
  // An older kernel does not know the flag.
  if (!fd && errno == EINVAL) fd.reset(::memfd_create(name, kFlags));
  if (!fd) return system_error(errno, "memfd_create");
  return fd;
}

}  // namespace penstock
