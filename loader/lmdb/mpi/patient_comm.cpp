#include "loader/lmdb/mpi/patient_comm.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <thread>
#include <utility>

#include "common/clock.h"

namespace penstock::lmdb {
namespace {

// finish() waits with MPI_Test(), which clang-tidy's MPI checker ignores.
// NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker)

constexpr auto kShortestNap = std::chrono::microseconds(20);
constexpr auto kLongestNap = std::chrono::microseconds(1000);

Error mpi_error(int code, const char* what) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return Error{Code::kIo, 0,
               std::string(what) + ": " +
                   std::string(text, static_cast<size_t>(length))};
}

// Leaks the buffer of an unfinished request: MPI may still write to it when a
// late rank arrives.
// NOLINTBEGIN(clang-analyzer-cplusplus.NewDeleteLeaks)
template <class T>
Error left_to_mpi(std::unique_ptr<T> buffer, Error error) {
  (void)buffer.release();
  return error;
}
// NOLINTEND(clang-analyzer-cplusplus.NewDeleteLeaks)

// An error as text for MPI: code, errno and message, one per line.
std::string error_text(const Error& error) {
  return std::to_string(static_cast<int>(error.code)) + "\n" +
         std::to_string(error.saved_errno) + "\n" + error.message;
}

Error error_of(const std::string& text) {
  const size_t first = text.find('\n');
  const size_t second = text.find('\n', first + 1);
  return Error{static_cast<Code>(std::atoi(text.c_str())),
               std::atoi(text.c_str() + first + 1), text.substr(second + 1)};
}

}  // namespace

PatientComm::PatientComm(MPI_Comm owned, uint32_t timeout_ms)
    : comm_(owned), timeout_ms_(timeout_ms) {
  if (comm_ == MPI_COMM_NULL) return;
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}

PatientComm::PatientComm(PatientComm&& other) noexcept
    : comm_(std::exchange(other.comm_, MPI_COMM_NULL)),
      rank_(other.rank_),
      size_(other.size_),
      timeout_ms_(other.timeout_ms_) {}

PatientComm& PatientComm::operator=(PatientComm&& other) noexcept {
  std::swap(comm_, other.comm_);
  std::swap(rank_, other.rank_);
  std::swap(size_, other.size_);
  std::swap(timeout_ms_, other.timeout_ms_);
  return *this;
}

PatientComm::~PatientComm() {
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
}

Result<PatientComm> PatientComm::duplicate(MPI_Comm comm, uint32_t timeout_ms) {
  // A barrier first: MPI_Comm_dup() alone would wait forever. MPI_Comm_idup()
  // takes about 10 ms more, as it progresses only in MPI_Test().
  PatientComm callers;
  callers.comm_ = comm;
  callers.timeout_ms_ = timeout_ms;
  Status all = callers.barrier();
  callers.abandon();
  if (!all) return std::move(all).error();
  MPI_Comm copy = MPI_COMM_NULL;
  const int code = MPI_Comm_dup(comm, &copy);
  if (code != MPI_SUCCESS) return mpi_error(code, "MPI_Comm_dup");
  return PatientComm(copy, timeout_ms);
}

Result<PatientComm> PatientComm::alone(uint32_t timeout_ms) {
  MPI_Comm copy = MPI_COMM_NULL;
  const int code = MPI_Comm_dup(MPI_COMM_SELF, &copy);
  if (code != MPI_SUCCESS) return mpi_error(code, "MPI_Comm_dup");
  return PatientComm(copy, timeout_ms);
}

Result<PatientComm> PatientComm::split(int colour, int key) {
  MPI_Comm part = MPI_COMM_NULL;
  const int code = MPI_Comm_split(comm_, colour, key, &part);
  if (code != MPI_SUCCESS) return mpi_error(code, "MPI_Comm_split");
  return PatientComm(part, timeout_ms_);
}

Result<PatientComm> PatientComm::split_nodes() {
  MPI_Comm part = MPI_COMM_NULL;
  const int code = MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_,
                                       MPI_INFO_NULL, &part);
  if (code != MPI_SUCCESS) return mpi_error(code, "MPI_Comm_split_type");
  return PatientComm(part, timeout_ms_);
}

Status PatientComm::finish(MPI_Request request, const char* what) {
  const uint64_t end_ns = monotonic_ns() + uint64_t{timeout_ms_} * 1000000;
  auto nap = kShortestNap;
  while (true) {
    int is_done = 0;
    const int code = MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return mpi_error(code, what);
    if (is_done != 0) return Done{};
    if (monotonic_ns() > end_ns) {
      return Error{Code::kUnavailable, 0,
                   std::string(what) + ": not all ranks came within " +
                       std::to_string(timeout_ms_) + " ms; one may have died"};
    }
    std::this_thread::sleep_for(nap);
    nap = std::min(2 * nap, kLongestNap);
  }
}

Status PatientComm::barrier() {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Ibarrier(comm_, &request);
  if (code != MPI_SUCCESS) return mpi_error(code, "MPI_Ibarrier");
  return finish(request, "MPI_Ibarrier");
}

Status PatientComm::barrier(const std::function<Status()>& look) {
  constexpr int kNapsPerLook = 250;
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_Ibarrier(comm_, &request);
  for (int nap = 1; code == MPI_SUCCESS; ++nap) {
    int is_done = 0;
    code = MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && is_done != 0) return Done{};
    std::this_thread::sleep_for(kLongestNap);
    if (nap % kNapsPerLook != 0) continue;
    if (Status ok = look(); !ok) return ok;
  }
  return mpi_error(code, "MPI_Ibarrier");
}

Result<std::string> PatientComm::gather_equal(const std::string& mine) {
  struct Buffers {
    std::string mine;
    std::string all;
  };
  auto buffers = std::make_unique<Buffers>();
  buffers->mine = mine;
  buffers->all.resize(mine.size() * static_cast<size_t>(size_));
  const int count = static_cast<int>(mine.size());
  MPI_Request request = MPI_REQUEST_NULL;
  const int code =
      MPI_Iallgather(buffers->mine.data(), count, MPI_BYTE, buffers->all.data(),
                     count, MPI_BYTE, comm_, &request);
  if (code != MPI_SUCCESS) return mpi_error(code, "MPI_Iallgather");
  if (Status done = finish(request, "MPI_Iallgather"); !done) {
    return left_to_mpi(std::move(buffers), std::move(done).error());
  }
  return std::move(buffers->all);
}

Status PatientComm::broadcast(std::string& bytes, int root) {
  auto sent = std::make_unique<std::string>(bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Ibcast(sent->data(), static_cast<int>(sent->size()),
                              MPI_BYTE, root, comm_, &request);
  if (code != MPI_SUCCESS) return mpi_error(code, "MPI_Ibcast");
  if (Status done = finish(request, "MPI_Ibcast"); !done) {
    return left_to_mpi(std::move(sent), std::move(done).error());
  }
  bytes = std::move(*sent);
  return Done{};
}

Result<std::string> PatientComm::gather_bytes(const std::string& mine) {
  const Result<std::vector<uint64_t>> sizes =
      share(Done{}, uint64_t{mine.size()});
  if (!sizes) return sizes.error();
  std::string all;
  all.reserve(std::accumulate(sizes->begin(), sizes->end(), uint64_t{0}));
  // In pieces: MPI counts in int, and broadcast() copies each piece.
  constexpr uint64_t kPiece = uint64_t{1} << 26;
  for (int root = 0; root < size_; ++root) {
    const uint64_t size = (*sizes)[static_cast<size_t>(root)];
    for (uint64_t at = 0; at < size; at += kPiece) {
      const uint64_t count = std::min(kPiece, size - at);
      std::string piece =
          root == rank_ ? mine.substr(at, count) : std::string(count, '\0');
      if (Status sent = broadcast(piece, root); !sent) {
        return std::move(sent).error();
      }
      all += piece;
    }
  }
  return all;
}

Result<std::string> PatientComm::share_bytes(const Status& mine,
                                             const void* value,
                                             size_t value_bytes) {
  std::string text = mine ? "" : error_text(mine.error());
  const uint64_t text_bytes = text.size();
  std::string sent(reinterpret_cast<const char*>(&text_bytes),
                   sizeof text_bytes);
  sent.append(static_cast<const char*>(value), value_bytes);
  const Result<std::string> gathered = gather_equal(sent);
  if (!gathered) return gathered.error();
  std::string values;
  for (int rank = 0; rank < size_; ++rank) {
    const size_t at = sent.size() * static_cast<size_t>(rank);
    uint64_t its_bytes = 0;
    std::memcpy(&its_bytes, gathered->data() + at, sizeof its_bytes);
    if (its_bytes > 0) {
      text.resize(its_bytes);
      if (Status told = broadcast(text, rank); !told) {
        return std::move(told).error();
      }
      return error_of(text);
    }
    values.append(*gathered, at + sizeof its_bytes, value_bytes);
  }
  return values;
}

Status PatientComm::agree(const Status& mine) {
  Result<std::string> all = share_bytes(mine, nullptr, 0);
  return all ? Status(Done{}) : Status(std::move(all).error());
}

// NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker)

}  // namespace penstock::lmdb
