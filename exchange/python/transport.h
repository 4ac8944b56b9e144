// Transports as Python holds them, until a context takes them. Functions throw,
// as pybind11 wants it.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "exchange/transport/transport.h"

namespace penstock::exchange {

// ValueError where the caller is wrong, else ConnectionError.
[[noreturn]] void throw_error(const Error& error);

class PythonTransport {
 public:
  // allows_thread: another thread than the caller's may use it.
  // under: what must outlive it.
  PythonTransport(std::unique_ptr<Transport> transport, bool allows_thread,
                  std::shared_ptr<void> under = nullptr);

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool allows_thread() const { return allows_thread_; }
  const std::shared_ptr<void>& under() const { return under_; }

  // What each rank gave, in the order of ranks: of all the same length.
  // Throws ConnectionError where a rank does not come in timeout_s.
  std::vector<pybind11::bytes> gather(const pybind11::bytes& mine,
                                      double timeout_s);
  // Once; throws ValueError afterwards.
  std::unique_ptr<Transport> take();

 private:
  Transport& held() const;

  std::shared_ptr<void> under_;
  std::unique_ptr<Transport> transport_;
  int rank_;
  int size_;
  bool allows_thread_;
};

// A rank that is alone, and ranks that are threads of this process.
PythonTransport alone();
std::vector<PythonTransport> thread_ranks(int ranks);

}  // namespace penstock::exchange
