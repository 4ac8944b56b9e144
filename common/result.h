// Result<T>: a value or an Error. Project code reports failures with Result and
// never throws. Exceptions of libraries (the standard library, nlohmann-json)
// are caught at the call.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <variant>

namespace penstock {

enum class Code {
  kInvalidArgument,   // unusable value from the caller or from outside
  kNotFound,          // no such file, group, job, model
  kPermissionDenied,  // the peer or the file's owner lacks permission
  kIo,                // a system call failed with saved_errno
  kInfeasible,        // an allocation problem without a solution
  kUnavailable,       // a service or a kernel feature is missing (now)
  kLimit,             // one of Penstock's limits was reached
};

struct Error {
  Code code = Code::kInvalidArgument;
  int saved_errno = 0;  // 0: not from a system call
  std::string message;  // a whole sentence for a person, without a full stop

  // Prefixes the message: "context: message".
  Error wrap(const std::string& context) && {
    message = context + ": " + message;
    return std::move(*this);
  }
};

inline Error invalid(std::string message) {
  return Error{Code::kInvalidArgument, 0, std::move(message)};
}

// The error of a failed system call: "what: strerror(errno_value)".
inline Error system_error(int errno_value, const std::string& what) {
  Code code = errno_value == ENOENT || errno_value == ESRCH ? Code::kNotFound
              : errno_value == EACCES || errno_value == EPERM
                  ? Code::kPermissionDenied
                  : Code::kIo;
  return Error{code, errno_value, what + ": " + std::strerror(errno_value)};
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::move(error)) {}  // NOLINT: implicit

  explicit operator bool() const { return state_.index() == 0; }
  bool ok() const { return state_.index() == 0; }

  // REQUIRES: ok().
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  // By value: in a range-for over *f() a reference would dangle.
  T operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  T value_or(T fallback) const { return ok() ? std::get<0>(state_) : fallback; }

  // REQUIRES: !ok().
  Error& error() & { return std::get<1>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

struct Done {};
// Result of a function without a value: Done{} or an Error.
using Status = Result<Done>;

}  // namespace penstock
