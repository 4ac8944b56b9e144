// Transports owned by Python, until a context takes them. Functions throw
// exceptions, for pybind11.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "exchange/transport/transport.h"

namespace penstock::exchange {

// Throws ValueError for kInvalidArgument and kLimit, otherwise ConnectionError.
[[noreturn]] void throw_error(const Error& error);

class PythonTransport {
 public:
  // allows_thread: another thread than the caller's may use the transport.
  // under: an object that must outlive it, or null.
  PythonTransport(std::unique_ptr<Transport> transport, bool allows_thread,
                  std::shared_ptr<void> under = nullptr);

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool allows_thread() const { return allows_thread_; }
  const std::shared_ptr<void>& under() const { return under_; }

  // Collective. Returns the bytes of all ranks, which must have one length, in
  // the order of ranks. Throws ConnectionError if a rank is missing after
  // timeout_s.
  std::vector<pybind11::bytes> gather(const pybind11::bytes& mine,
                                      double timeout_s);
  // Hands the transport over. Throws ValueError the second time.
  std::unique_ptr<Transport> take();

 private:
  Transport& held() const;

  std::shared_ptr<void> under_;
  std::unique_ptr<Transport> transport_;
  int rank_;
  int size_;
  bool allows_thread_;
};

// The transport of a single rank, and those of ranks that are threads of this
// process. Throws ValueError if ranks < 1.
PythonTransport alone();
std::vector<PythonTransport> thread_ranks(int ranks);

}  // namespace penstock::exchange
