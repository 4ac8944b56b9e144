#include "exchange/python/transport.h"

#include <chrono>
#include <thread>

#include "exchange/transport/thread_ranks.h"

namespace penstock::exchange {
namespace {

namespace py = pybind11;
using Clock = std::chrono::steady_clock;

// Throws the exception of a Python signal handler, such as KeyboardInterrupt.
void check_signals() {
  const py::gil_scoped_acquire here;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

// REQUIRES: the GIL is not held.
Status finish(Transport& transport, Transport::Request request,
              double timeout_s) {
  const auto end = Clock::now() + std::chrono::duration<double>(timeout_s);
  for (;;) {
    const auto is_done = transport.test(request);
    if (!is_done) return is_done.error();
    if (*is_done) return Done{};
    if (Clock::now() > end) {
      return Error{Code::kUnavailable, 0,
                   "some rank did not come to the exchange in " +
                       std::to_string(static_cast<int>(timeout_s)) +
                       " s: it has ended, or takes another route"};
    }
    check_signals();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

}  // namespace

void throw_error(const Error& error) {
  const bool is_callers =
      error.code == Code::kInvalidArgument || error.code == Code::kLimit;
  PyErr_SetString(is_callers ? PyExc_ValueError : PyExc_ConnectionError,
                  error.message.c_str());
  throw py::error_already_set();
}

PythonTransport::PythonTransport(std::unique_ptr<Transport> transport,
                                 bool allows_thread,
                                 std::shared_ptr<void> under)
    : under_(std::move(under)),
      transport_(std::move(transport)),
      rank_(transport_->rank()),
      size_(transport_->size()),
      allows_thread_(allows_thread) {}

Transport& PythonTransport::held() const {
  if (!transport_)
    throw py::value_error("the transport is a context's already");
  return *transport_;
}

std::vector<py::bytes> PythonTransport::gather(const py::bytes& mine,
                                               double timeout_s) {
  Transport& transport = held();
  const std::string given = mine;
  std::string all(given.size() * static_cast<size_t>(size_), '\0');
  const Status status = [&]() -> Status {
    const py::gil_scoped_release others;
    transport.reserve(1);
    const auto begun =
        transport.allgather(std::as_bytes(std::span(given)),
                            std::as_writable_bytes(std::span(all)));
    if (!begun) return begun.error();
    return finish(transport, *begun, timeout_s);
  }();
  if (!status) throw_error(status.error());
  std::vector<py::bytes> texts;
  for (size_t at = 0; at < all.size(); at += given.size()) {
    texts.emplace_back(all.data() + at, given.size());
  }
  return texts;
}

std::unique_ptr<Transport> PythonTransport::take() {
  held();
  return std::move(transport_);
}

PythonTransport alone() {
  auto ranks = std::make_shared<ThreadRanks>(1);
  auto transport = ranks->transport(0);
  return {std::move(transport), true, std::move(ranks)};
}

std::vector<PythonTransport> thread_ranks(int ranks) {
  if (ranks < 1) throw py::value_error("ranks: 1 or more");
  auto group = std::make_shared<ThreadRanks>(ranks);
  std::vector<PythonTransport> all;
  all.reserve(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    all.emplace_back(group->transport(rank), true, group);
  }
  return all;
}

}  // namespace penstock::exchange
