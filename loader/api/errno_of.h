// Maps an Error to the errno value that the C interface returns.
#pragma once

#include <cerrno>

#include "common/result.h"

namespace penstock {

inline int errno_of(const Error& error) {
  if (error.code == Code::kInvalidArgument) return EINVAL;
  if (error.saved_errno > 0) return error.saved_errno;
  switch (error.code) {
    case Code::kNotFound:
      return ENOENT;
    case Code::kPermissionDenied:
      return EACCES;
    case Code::kLimit:
      return ENOMEM;
    default:
      return EIO;
  }
}

}  // namespace penstock
